# wharf's shell integration for bash 4 and later. Older ones get their own startup files and nothing else.
#
# It runs in place of ~/.bashrc (`bash --rcfile`), or as $ENV of `bash --posix`, the one file that a
# login shell reads there. It then does what bash would have done, and adds the hooks last, so that they
# stand around whatever the user's files have set.
#
# The functions are defined before those files run, and what follows them is one compound command: it
# is parsed as a whole, so no alias of theirs reaches it.

__wharf_a='\[\e]133;A\a\]'
__wharf_b='\[\e]133;B\a\]'
__wharf_none=''
__wharf_ran=0
# Prompt commands may be exported: to a child, which has no $__wharf_ran, these are nothing.
__wharf_first='${__wharf_ran:+"__wharf_first"}'
__wharf_last='${__wharf_ran:+"__wharf_last"}'
__wharf_before=0
__wharf_number=0
# The offset is arithmetic and runs in the shell itself: it notes that a command was run, and which number
# history has come to. The rest runs in a subshell, whose output bash prints before the command.
__wharf_ps0='${__wharf_none:(__wharf_ran=1,__wharf_before=__wharf_number,__wharf_number=\!)}${__wharf_ran:+$(__wharf_preexec)}'
# For bash without PS0. It takes itself away before the first command of the line runs, so that a trap of the
# user's own finds the place empty.
__wharf_trap='__wharf_ran=1; __wharf_running "$BASH_COMMAND" >&2; trap - DEBUG'

# First of the prompt commands: the one that sees the exit code. It and the last one end with the status that
# they found, for the commands after them.
__wharf_first() {
  # `local -` puts the user's -e, -u and -x back on return.
  { local status="$?" flags="$-"; local - && builtin set +aeux || :; } 2>/dev/null
  if [[ $__wharf_ran == 1 ]]; then
    __wharf_ran=0
    builtin printf '\e]133;D;%s\a' "$status" >&2
  fi
  # The user's prompt commands shall see their own PS1.
  __wharf_unmark
  # Under `set -e` a failing prompt command would end the shell.
  if [[ $flags == *e* ]]; then builtin return 0; fi
  builtin return "$status"
}

# Last of the prompt commands: PS1 is what it will be.
__wharf_last() {
  { local status="$?" flags="$-"; local - && builtin set +aeux || :; } 2>/dev/null
  __wharf_unmark
  PS1=$__wharf_a${PS1-}$__wharf_b
  __wharf_hook
  __wharf_cwd >&2
  if [[ -z $__wharf_ps0 && $flags != *T* ]]; then
    # A trap of the user's own is put back on return, since functions do not inherit it. Nothing may follow.
    builtin trap "$__wharf_trap" DEBUG
  elif [[ $flags != *e* ]]; then
    builtin return "$status"
  fi
}

__wharf_unmark() {
  PS1=${PS1-}
  PS1=${PS1//"$__wharf_a"/}
  PS1=${PS1//"$__wharf_b"/}
}

# Puts the hooks where they belong, again at each prompt, since anything may have added its own since. A
# last one that is no longer the last becomes a first one, which does nothing the second time.
__wharf_hook() {
  local all="${PROMPT_COMMAND-}"
  if [[ "$(builtin declare -p PROMPT_COMMAND 2>/dev/null)" == 'declare -a'* ]]; then
    if [[ ${PROMPT_COMMAND[*]:0:1} != "$__wharf_first" || ${PROMPT_COMMAND[*]: -1} != "$__wharf_last" ]]; then
      PROMPT_COMMAND=("${PROMPT_COMMAND[@]//"$__wharf_last"/$__wharf_first}" "$__wharf_last")
      if [[ ${PROMPT_COMMAND[*]:0:1} != "$__wharf_first" ]]; then
        PROMPT_COMMAND=("$__wharf_first" "${PROMPT_COMMAND[@]}")
      fi
    fi
  elif [[ $all != "$__wharf_first"$'\n'*$'\n'"$__wharf_last" ]]; then
    all=${all//"$__wharf_last"/$__wharf_first}
    PROMPT_COMMAND=$__wharf_first$'\n'${all#"$__wharf_first"$'\n'}$'\n'$__wharf_last
  fi

  if [[ -z $__wharf_ps0 ]]; then builtin return 0; fi
  PS0=${PS0-}
  PS0=${PS0//"$__wharf_ps0"/}
  PS0=${PS0//'\e]133;C\a'/}
  if builtin shopt -q promptvars; then
    PS0+=$__wharf_ps0
  else
    PS0+='\e]133;C\a'
    __wharf_ran=1
  fi
}

# In the subshell of PS0, when a command line has been read.
__wharf_preexec() {
  { builtin set +aeux; } 2>/dev/null
  local line
  line=$(HISTTIMEFORMAT= builtin history 1)
  line=${line#"${line%%[0-9]*}"}
  line=${line#"${line%%[!0-9]*}"}
  # A line that history did not take is not the last one there, unless it only repeats it.
  if [[ $__wharf_number == "$__wharf_before" ]]; then
    case ${HISTCONTROL-} in
      *ignoredups* | *ignoreboth* | *erasedups*) ;;
      *) line='' ;;
    esac
  fi
  __wharf_running "${line:2}"
}

__wharf_running() {
  local line="${1//[[:cntrl:]]/ }"
  if [[ -n $line ]]; then builtin printf '\e]2;%s\a' "${line:0:256}"; fi
  builtin printf '\e]133;C\a'
}

__wharf_cwd() {
  local title="$PWD"
  case $PWD in
    "${HOME-}") title='~' ;;
    "${HOME-}"/*) title="~${PWD#"$HOME"}" ;;
  esac
  title=${title//[[:cntrl:]]/ }
  if [[ ${__wharf_pwd-} != "$PWD" ]]; then
    __wharf_pwd=$PWD
    __wharf_encode "$PWD"
  fi
  builtin printf '\e]2;%s\a\e]7;file://%s%s\a' "${title:0:256}" "${HOSTNAME-}" "$__wharf_url"
}

__wharf_encode() {
  local LC_ALL=C i byte code
  __wharf_url=''
  for ((i = 0; i < ${#1}; i++)); do
    byte=${1:i:1}
    if [[ $byte != [A-Za-z0-9/._~-] ]]; then
      builtin printf -v code %d "'$byte"
      builtin printf -v byte '%%%02X' $((code & 255))
    fi
    __wharf_url+=$byte
  done
}

__wharf_start() {
  { local status="$?" flags="$-"; local - && builtin set +aeux || :; } 2>/dev/null
  if ((BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] < 4)); then __wharf_ps0=''; fi
  __wharf_hook
  # The startup files may have set PATH anew.
  if [[ -n ${WHARF_BIN-} && :${PATH-}: != *:"$WHARF_BIN":* ]]; then PATH+=:$WHARF_BIN; fi
  builtin unset -f __wharf_start
  builtin unset -v __wharf_rc
  # The first prompt shows what the user's files ended with.
  if [[ $flags == *e* ]]; then builtin return 0; fi
  builtin return "$status"
}

{
  if [[ -n ${WHARF_SHELL_INTEGRATION-} ]]; then
    builtin unset -v ENV WHARF_SHELL_INTEGRATION
    if [[ -n ${WHARF_ENV+x} ]]; then
      builtin export ENV="$WHARF_ENV"
      builtin unset -v WHARF_ENV
    fi
    builtin set +o posix
    # Not put back by the line above.
    builtin shopt -u inherit_errexit 2>/dev/null
    # In POSIX mode bash has already chosen another history file; one from the environment is exported.
    if [[ "$(builtin declare -p HISTFILE 2>/dev/null)" == "declare -- HISTFILE=\"$HOME/.sh_history\"" ]]; then
      HISTFILE=$HOME/.bash_history
    fi
    # No loop: a `break` in the user's file would be taken for ours.
    if [[ -r /etc/profile ]]; then builtin source /etc/profile; fi
    if [[ -r $HOME/.bash_profile ]]; then
      builtin source "$HOME/.bash_profile"
    elif [[ -r $HOME/.bash_login ]]; then
      builtin source "$HOME/.bash_login"
    elif [[ -r $HOME/.profile ]]; then
      builtin source "$HOME/.profile"
    fi
  else
    __wharf_rc=${WHARF_BASH_RC-$HOME/.bashrc}
    builtin unset -v WHARF_BASH_RC
    if [[ -r $__wharf_rc ]]; then builtin source "$__wharf_rc"; fi
  fi
  if ((BASH_VERSINFO[0] >= 4)); then __wharf_start; fi
}
