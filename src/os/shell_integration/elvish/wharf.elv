# wharf's shell integration for elvish 0.18 and later, evaluated at the end of the user's rc.elv.
#
# There is no mark B: what a prompt function prints is escaped, and nothing runs once the prompt is drawn.

use platform
use str

var host = (platform:hostname)

# The rc file may have set the paths anew.
if (and (has-env WHARF_BIN) (not (has-value $paths $E:WHARF_BIN))) {
  set paths = [$@paths $E:WHARF_BIN]
}

# The rc file itself counts as a command, which no line was read for.
var running = $false

# Control characters become spaces, and what no tab could show is cut.
fn title {|text|
  var clean = (str:join '' [(for char [(str:split '' $text)] {
    var code = (str:to-codepoints $char)
    if (or (< $code 0x20) (<= 0x7f $code 0x9f)) { put ' ' } else { put $char }
  } | take 256)])
  print "\e]2;"$clean"\a"
}

fn directory {
  print "\e]7;file://"$host
  for char [(str:split '' $pwd)] {
    if (has-value [(str:split '' "/._~-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")] $char) {
      print $char
    } else {
      for byte [(str:to-utf8-bytes $char)] { printf "%%%02X" (num $byte) }
    }
  }
  print "\a"
}

set edit:before-readline = [$@edit:before-readline {
  title (tilde-abbr $pwd)
  directory
  print "\e]133;A\a"
}]

set edit:after-readline = [$@edit:after-readline {|line|
  if (not-eq '' (str:trim-space $line)) {
    title $line
    print "\e]133;C\a"
    set running = $true
  }
}]

set edit:after-command = [$@edit:after-command {|command|
  # `return` here would be an exception that nobody catches.
  if $running {
    set running = $false
    var code = 0
    if (not-eq $nil $command[error]) {
      set code = 1
      try {
        set code = $command[error][reason][exit-status]
      } catch _ {
        try { set code = (+ 128 $command[error][reason][signal-number]) } catch _ { nop }
      }
    }
    print "\e]133;D;"$code"\a"
  }
}]
