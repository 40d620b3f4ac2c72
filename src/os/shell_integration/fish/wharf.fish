# wharf's shell integration for fish, found through $XDG_DATA_DIRS (vendor_conf.d).

# The entry is taken out as it was put in, whatever the user's files have added since.
if set -q WHARF_DATA_DIRS
    set -l dirs (string replace -- "$WHARF_DATA_DIRS" "" "$XDG_DATA_DIRS")
    set -e WHARF_DATA_DIRS
    if test -n "$dirs"
        set -gx XDG_DATA_DIRS $dirs
    else
        set -e XDG_DATA_DIRS
    end
end

# At the first prompt, so that whatever the user's files define has been defined.
status is-interactive; and function __wharf_start --on-event fish_prompt
    functions -e __wharf_start

    # The startup files may have set the path anew.
    if set -q WHARF_BIN; and not contains -- $WHARF_BIN $PATH
        set -gx PATH $PATH $WHARF_BIN
    end

    # fish writes the title itself, with the function fish_title. Only its own one is replaced.
    set -l file (functions --details fish_title)
    if contains -- $file embedded:functions/fish_title.fish "$__fish_data_dir/functions/fish_title.fish"
        function fish_title
            if set -q argv[1]
                string replace -ra '[[:cntrl:]]' ' ' -- $argv[1] | string join ' ' | string sub -l 256
            else
                string replace -r '^'(string escape --style=regex -- $HOME)'(?=/|$)' '~' -- $PWD \
                    | string replace -ra '[[:cntrl:]]' ' ' | string join ' ' | string sub -l 256
            end
        end
    end

    # From version 4 on fish marks its prompts and tells the directory itself.
    string match -qr '^[0-3]\.' -- $version; or return

    function __wharf_prompt --on-event fish_prompt --on-event fish_cancel
        # Anything may have redefined the prompt since the last one.
        if not string match -q '*__wharf_user_prompt*' -- (functions fish_prompt | string collect)
            functions -e __wharf_user_prompt
            functions -c fish_prompt __wharf_user_prompt
            function fish_prompt
                # First, so that it sees the $status of the last command.
                __wharf_user_prompt
                printf '\e]133;B\a'
            end
        end
        printf '\e]7;file://%s%s\a\e]133;A\a' $hostname (string escape --style=url -- $PWD)
    end
    function __wharf_preexec --on-event fish_preexec
        printf '\e]133;C\a'
    end
    function __wharf_postexec --on-event fish_postexec
        printf '\e]133;D;%s\a' $status
    end
    __wharf_prompt
end
