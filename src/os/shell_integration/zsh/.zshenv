# wharf's shell integration for zsh, found through $ZDOTDIR.
#
# It gives $ZDOTDIR back, runs the user's own .zshenv, and leaves; zsh then finds the other startup files
# by itself. The hooks are added when the first prompt is due, after all of those.
#
# The functions are defined before the user's file runs, so none of its aliases reaches them.

# To the terminal itself: standard output may be a file. Quiet when the terminal is not ours to open.
__wharf_put() {
  { builtin print -rn -- "$1" >$TTY } 2>/dev/null
  builtin return 0
}

__wharf_precmd() {
  builtin local -i exit_code=$? percent=0
  if [[ -o prompt_percent ]]; then percent=1; fi
  builtin emulate -L zsh -o extended_glob -o no_warn_create_global
  builtin local out='' title=${(%):-%~}

  # Widgets call the hooks too, to draw the prompt anew: the cursor is not at the start of a line then.
  if ! builtin zle; then
    if (( __wharf_ran )); then
      out+=$'\e]133;D;'$exit_code$'\a'
      __wharf_ran=0
    fi
    if [[ $PWD != $__wharf_pwd ]]; then
      __wharf_pwd=$PWD
      __wharf_encode $PWD
    fi
    out+=$'\e]2;'${${title//[[:cntrl:]]/ }[1,256]}$'\a\e]7;file://'$HOST$__wharf_url$'\a'
    if (( ! percent )); then out+=$'\e]133;A\a'; fi
    __wharf_put $out
  fi

  # A hook after this one may still set PS1: be the last one next time.
  if [[ $precmd_functions[-1] != __wharf_precmd ]]; then
    precmd_functions=(${precmd_functions:#__wharf_precmd} __wharf_precmd)
  fi
  __wharf_unmark
  if (( percent )); then
    # A single % at the end would take the one of our mark for its own.
    if [[ $PS1 == (|*[^%])(%%)#% ]]; then PS1+=%; fi
    PS1=$__wharf_a$PS1$__wharf_b
  fi
}

__wharf_preexec() {
  builtin emulate -L zsh -o no_warn_create_global
  # $1 is empty when there is no history.
  builtin local line=${${${1:-$3}//[[:cntrl:]]/ }[1,256]}
  # The command sees the user's own PS1.
  __wharf_unmark
  __wharf_ran=1
  __wharf_put ${line:+$'\e]2;'$line$'\a'}$'\e]133;C\a'
}

__wharf_unmark() {
  PS1=${${PS1//$__wharf_a}//$__wharf_b}
}

# Into $__wharf_url: byte by byte, which is what no_multibyte makes of a character.
__wharf_encode() {
  builtin emulate -L zsh -o extended_glob -o no_multibyte -o no_warn_create_global
  builtin local match mbegin mend MATCH MBEGIN MEND
  __wharf_url=${1//(#m)[^A-Za-z0-9\/._~-]/%${(l:2::0:)$(( [##16] #MATCH ))}}
}

__wharf_start() {
  builtin local -i exit_code=$?
  builtin emulate -L zsh -o no_warn_create_global
  precmd_functions=(${precmd_functions:#__wharf_*} __wharf_precmd)
  preexec_functions+=(__wharf_preexec)
  # The startup files may have set the path anew.
  if [[ -n ${WHARF_BIN-} ]] && (( ! ${path[(Ie)$WHARF_BIN]} )); then path+=($WHARF_BIN); fi
  builtin unfunction __wharf_start
  __wharf_precmd
  builtin return exit_code
}

if [[ -n ${WHARF_ZDOTDIR+x} ]]; then
  'builtin' 'export' ZDOTDIR="$WHARF_ZDOTDIR"
  'builtin' 'unset' 'WHARF_ZDOTDIR'
else
  'builtin' 'unset' 'ZDOTDIR'
fi
{
  if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
    'builtin' 'source' "${ZDOTDIR-$HOME}/.zshenv"
  fi
} always {
  if [[ -o interactive ]]; then
    'builtin' 'typeset' -gi __wharf_ran=0
    'builtin' 'typeset' -g __wharf_pwd= __wharf_url=
    'builtin' 'typeset' -g __wharf_a=$'%{\e]133;A\a%}' __wharf_b=$'%{\e]133;B\a%}'
    # What is scheduled for now runs at the first prompt, after all startup files and hooks, and unlike
    # a hook it cannot be lost when one of those files sets the list of hooks anew.
    'builtin' 'sched' +0 __wharf_start 2>/dev/null || {
      'builtin' 'typeset' -ga precmd_functions
      precmd_functions+=(__wharf_start)
    }
  fi
}
