# wharf's shell integration for Nushell, found through $XDG_DATA_DIRS (vendor/autoload), after config.nu.
#
# Nushell marks its prompts itself. Here its title and its directory, where the user has not turned them off,
# become the whole command line and an encoded path.

if "WHARF_DATA_DIRS" in $env {
  # The entry is taken out as it was put in, whatever the user's files have added since.
  let dirs = ($env.XDG_DATA_DIRS? | default "" | str replace $env.WHARF_DATA_DIRS "")
  hide-env WHARF_DATA_DIRS
  if ($dirs | is-empty) { hide-env --ignore-errors XDG_DATA_DIRS } else { $env.XDG_DATA_DIRS = $dirs }

  # config.nu may have set the path anew.
  if "WHARF_BIN" in $env and ($env.WHARF_BIN not-in $env.PATH) {
    $env.PATH = ($env.PATH | append $env.WHARF_BIN)
  }

  if ($env.config.shell_integration.osc2) {
    $env.config.shell_integration.osc2 = false
    $env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt? | default [] | append {||
      let home = ($env.HOME? | default "")
      let path = if $env.PWD == $home or ($env.PWD | str starts-with $"($home)/") {
        $env.PWD | str replace $home "~"
      } else {
        $env.PWD
      }
      print --no-newline $"\e]2;($path | str replace --all --regex '[[:cntrl:]]' ' ' | str substring -g 0..255)\a"
    })
    $env.config.hooks.pre_execution = ($env.config.hooks.pre_execution? | default [] | append {||
      let line = (commandline | str replace --all --regex '[[:cntrl:]]' ' ' | str substring -g 0..255)
      print --no-newline $"\e]2;($line)\a"
    })
  }
  if ($env.config.shell_integration.osc7) {
    $env.config.shell_integration.osc7 = false
    $env.config.hooks.pre_prompt = ($env.config.hooks.pre_prompt? | default [] | append {||
      let path = ($env.PWD | split row '/' | each {|part| $part | url encode --all } | str join '/')
      print --no-newline $"\e]7;file://(sys host | get hostname)($path)\a"
    })
  }
}
