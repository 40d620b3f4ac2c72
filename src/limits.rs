//! Every bound and every interval, with its reason. Those that an operator would turn are options of
//! `wharf serve` and stand in [`crate::Config`]; what is here are their defaults and ceilings.

use std::time::Duration;

// ---- a terminal ----

/// Bytes of recent output a terminal keeps for replay ("about 2 MiB", terminal protocol). `--replay-bytes`.
pub const REPLAY_BYTES: usize = 2 << 20;
/// The ring starts at this size and doubles, so an idle terminal has not paid for [`REPLAY_BYTES`].
pub const REPLAY_BYTES_FIRST: usize = 4 << 10;
/// Lines above the screen that the screen model keeps. `--scrollback`.
pub const SCROLLBACK_LINES: usize = 1000;
/// Largest value of `--scrollback`: at 2,000 columns one reset is still a few hundred MiB at worst.
pub const SCROLLBACK_LINES_MAX: usize = 100_000;
/// Largest side of a grid, in cells; each cell of the model takes tens of bytes.
pub const GRID_SIDE_MAX: u16 = 2000;
/// Bytes of the stream that the screen model may not have seen yet. It is caught up when output pauses, when it
/// is asked, and at the latest here, while the ring still has them all.
pub const SCREEN_LAG_BYTES_MAX: usize = 512 << 10;
/// A screen that is so far behind looks whether it can pass over something, and again after as much more: with
/// less, it hardly can.
pub const SCREEN_PASS_BYTES_MIN: usize = 64 << 10;
/// The screen follows in slices of this size: what one takes is how long a keystroke elsewhere may wait.
pub const SCREEN_SLICE_BYTES: usize = 4 << 10;
/// What all screens together follow by in one turn.
pub const SCREEN_TURN_BYTES: usize = 4 << 10;
/// A screen that is no further behind than this follows at once, in the turn that wrote the bytes out.
pub const SCREEN_FOLLOW_AT_ONCE_BYTES: usize = 4 << 10;
/// A screen that is further behind follows when its terminal has printed nothing for this long: in a pause of a
/// flood the processor is somebody else's, and what comes next may spare it the work.
pub const SCREEN_FOLLOW_AFTER: Duration = Duration::from_millis(2);
/// Control strings (titles, marks, links) whose places in the stream a screen remembers.
pub const STRING_SPANS_MAX: usize = 256;
/// After this long without output a screen gives its working memory back.
pub const SCREEN_REST_AFTER: Duration = Duration::from_secs(5);
/// Input that the program has not taken yet. Above it the sender's socket is not read.
pub const INPUT_BYTES_MAX: usize = 1 << 20;
/// Sizes arrive in bursts while a window is dragged; the PTY hears at most one in this time.
pub const RESIZE_INTERVAL: Duration = Duration::from_millis(30);
/// How long half a UTF-8 character is held back for its rest: a program that wrote half of one into a full PTY may
/// not run again for some time on a busy machine, and nothing but that half waits.
pub const UTF8_HOLD: Duration = Duration::from_secs(1);
/// A title is recorded once it has stood still this long (terminal protocol, "Pane titles").
pub const TITLE_HOLD: Duration = Duration::from_millis(500);
/// A recorded title is cut at this many characters.
pub const TITLE_CHARS_MAX: usize = 256;
/// clientIds a terminal remembers for the duplicate check; the least recently heard leaves first.
pub const CLIENTS_REMEMBERED_MAX: usize = 1024;
/// Longest clientId accepted, in bytes.
pub const CLIENT_ID_BYTES_MAX: usize = 256;
/// Longest sessionId accepted, in bytes.
pub const SESSION_ID_BYTES_MAX: usize = 256;
/// How long an exited shell's terminal can still be attached and read. `--linger`.
pub const LINGER: Duration = Duration::from_secs(600);
/// Time between SIGHUP and SIGKILL when a terminal is closed: editors write their swap files.
pub const HANGUP_GRACE: Duration = Duration::from_secs(3);
/// A child that is gone while others still hold the slave: the master is drained for this long at most.
pub const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// Terminals at once. `--max-terminals`.
pub const TERMINALS_MAX: usize = 2000;
/// Largest value of `--max-terminals`: a slot has 14 bits.
pub const TERMINALS_CEILING: usize = 10_000;
/// After a child's death its output is read for this long at most, when others go on printing.
pub const DRAIN_MAX: Duration = Duration::from_secs(2);
/// How long shells get to react to SIGHUP when the server itself ends.
pub const SHUTDOWN_GRACE: Duration = Duration::from_millis(700);
/// How long a listener rests when the machine has no room for another connection.
pub const ACCEPT_REST: Duration = Duration::from_millis(200);

// ---- the screen model ----

/// Bytes kept of an escape sequence that is under way: they end a reset, and are what an operating
/// system command is read from. A longer one (an image, a large clipboard) has no effect on the model,
/// and a reset inside it ends with a start that swallows the rest.
pub const SEQUENCE_BYTES_MAX: usize = 64 << 10;
/// Bytes of combining marks kept of one cell; text in any language needs a few.
pub const CELL_MARKS_BYTES_MAX: usize = 64;
/// Longest hyperlink target that is kept, in bytes (browsers take about as much).
pub const LINK_BYTES_MAX: usize = 8 << 10;
/// All hyperlinks of one screen, in bytes. Beyond it text is kept without its link.
pub const LINKS_BYTES_MAX: usize = 1 << 20;
/// Bytes kept of a title as a program set it, and of a directory it told.
pub const TITLE_BYTES_MAX: usize = 4 << 10;
/// Titles on the stack of `CSI 22 t` (xterm and xterm.js: 10).
pub const TITLE_STACK_MAX: usize = 10;
/// Kitty keyboard flags on the stack of one screen; the oldest leaves first, as in kitty.
pub const KEYBOARD_STACK_MAX: usize = 8;

// ---- a socket ----

/// "When its socket falls about 1 MiB behind, the server stops sending it output."
pub const OUTBOUND_BYTES_HIGH: usize = 1 << 20;
/// Acks, pongs and errors may still be queued above the high mark, so that a Ctrl-C is heard over a slow
/// link; a peer that takes none of this many is no longer read.
pub const ANSWERS_BYTES_MAX: usize = 256 << 10;
/// Filled again once it has drained to here.
pub const OUTBOUND_BYTES_LOW: usize = 64 << 10;
/// Most output in one frame.
pub const OUTPUT_FRAME_BYTES_MAX: usize = 64 << 10;
/// One read of a PTY or of a socket.
pub const READ_BYTES: usize = 64 << 10;
/// Bytes taken from one PTY in one turn, so that a flood never delays another terminal's keystroke: what Linux
/// hands out in one read. It refills its buffer meanwhile; who reads on at once waits for that.
pub const PTY_BITE_BYTES: usize = 4 << 10;
/// Bytes taken from all PTYs in one turn; those that must wait go first in the next one.
pub const PTY_TURN_BYTES: usize = 16 << 10;
/// What a PTY gives without a pause is handed out in pieces of this size: small bites, large frames.
pub const PTY_PIECE_BYTES: usize = 32 << 10;
/// Bytes taken from one socket in one turn.
pub const SOCKET_BITE_BYTES: usize = 256 << 10;
/// Connections accepted from one listener in one turn.
pub const ACCEPT_BITE: usize = 64;
/// Largest websocket message of a terminal socket; above it the connection closes with 1009.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes the websocket codec takes at a time; its buffer exists only while a message is under way.
pub const WEBSOCKET_READ_BYTES: usize = 8 << 10;
// ---- a slow link ----

/// Measures of a peer's speed that are remembered; the best of them counts.
pub const LINK_MEASURES: usize = 4;
/// Measures that are enough: a pause spoils one.
pub const LINK_MEASURES_MIN: usize = 2;
/// A measure takes at least this long: buffers on the way take bytes in lumps.
pub const LINK_MEASURE_TIME: Duration = Duration::from_millis(20);
/// The queue in front of a peer whose speed is known is at most this long in time, and
/// [`OUTBOUND_BYTES_HIGH`] in bytes,
pub const OUTBOUND_TIME: Duration = Duration::from_millis(100);
/// but never shorter than this: it would only be more and smaller frames.
pub const OUTBOUND_BYTES_SLOWEST: usize = 8 << 10;
/// One frame of output takes the peer at most this long, since nothing can pass it,
pub const OUTPUT_FRAME_TIME: Duration = Duration::from_millis(20);
/// and carries at least this, if there is as much,
pub const OUTPUT_FRAME_BYTES_SLOWEST: usize = 4 << 10;
/// or at most this while the peer has refused bytes and nobody knows how fast it is.
pub const OUTPUT_FRAME_BYTES_FIRST: usize = 16 << 10;
/// Kernel's share of a socket's backlog (`TCP_NOTSENT_LOWAT`; `SO_SNDBUF` of a Unix socket): the backlog is
/// ours, not the kernel's. It is this long in time,
pub const UNSENT_TIME: Duration = Duration::from_millis(10);
/// within these bytes,
pub const UNSENT_BYTES_MIN: usize = 4 << 10;
/// see [`UNSENT_BYTES_MIN`],
pub const UNSENT_BYTES_MAX: usize = 256 << 10;
/// and this (TCP) while nobody knows how fast the peer is.
pub const UNSENT_BYTES_FIRST: usize = 32 << 10;
/// Who types while more output than this waits, in time and in bytes, sees the present screen in its place:
/// with less, the answer comes soon enough, or a reset would hardly be shorter.
pub const PRESENT_TIME: Duration = Duration::from_millis(20);
/// See [`PRESENT_TIME`].
pub const PRESENT_BYTES: usize = 16 << 10;
/// Frames of a queue whose places have memory while none wait.
pub const QUEUED_FRAMES_SPARE: usize = 16;
/// A key has had its effect by then, and what is printed later is not skipped on account of it.
pub const PRESENT_REST: Duration = Duration::from_millis(250);
/// A reader that would take longer than this for [`SCROLLBACK_BYTES_TYPICAL`] is not sent the scrollback
/// again and again while a flood outruns it,
pub const SCROLLBACK_TIME: Duration = Duration::from_millis(100);
/// which is what a thousand lines of 80 characters are,
pub const SCROLLBACK_BYTES_TYPICAL: usize = 80 << 10;
/// but when it has lost nothing, and typed nothing, for this long.
pub const SCROLLBACK_REST: Duration = Duration::from_secs(1);
/// Readers of one terminal that left without the scrollback they were owed and are remembered: all phones of
/// a person, after some losses each.
pub const OWED_MAX: usize = 32;
/// The server pings after this much silence.
pub const PING_AFTER: Duration = Duration::from_secs(25);
/// A peer silent for this long is dropped.
pub const SILENCE_MAX: Duration = Duration::from_secs(75);
/// How long a closing connection may take to read what is left.
pub const CLOSING_MAX: Duration = Duration::from_secs(5);
/// Smoothed round trips above this are batched.
pub const SRTT_BATCHED_ABOVE: Duration = Duration::from_millis(40);
/// Shortest and longest hold of a batch.
pub const BATCH_HOLD_MIN: Duration = Duration::from_millis(4);
/// See [`BATCH_HOLD_MIN`].
pub const BATCH_HOLD_MAX: Duration = Duration::from_millis(16);

/// Values of one JSON text, commas and brackets counted. Parsed, each takes up to a hundred bytes.
pub const JSON_VALUES_MAX: usize = 4096;

// ---- HTTP ----

/// A request's head; above it `431`.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// Header fields of one request; above it `431`.
pub const HEADERS_MAX: usize = 100;
/// A request's body; above it `413`.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// A request's body that is a panel: the largest one as base64, or as text that JSON makes twice as long.
pub const PANEL_BODY_BYTES_MAX: usize = 2 * PANEL_BYTES_MAX;
/// Blank lines tolerated before a request line (RFC 9112 section 2.2 asks for at least one).
pub const BLANK_LINES_MAX: usize = 4;
/// A chunk's size and its extensions, which mean nothing here.
pub const CHUNK_LINE_BYTES_MAX: usize = 256;
/// A response's head, read by the client verbs; twice what any server sends.
pub const RESPONSE_HEAD_BYTES_MAX: usize = 64 << 10;
/// A response's body, read by the client verbs: the screen of the largest grid and scrollback fits.
pub const RESPONSE_BYTES_MAX: usize = 512 << 20;
/// A head must be complete by then.
pub const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// A body must be complete by then.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// A kept-alive connection may rest this long between two requests.
pub const KEEP_ALIVE_MAX: Duration = Duration::from_secs(60);
/// Connections at once.
pub const CONNECTIONS_MAX: usize = 4096;
/// Refused tokens a minute from one address before it gets `429`.
pub const TOKEN_FAILURES_MAX: u32 = 10;
/// The minute of [`TOKEN_FAILURES_MAX`].
pub const TOKEN_FAILURES_WINDOW: Duration = Duration::from_secs(60);
/// Addresses whose failures are remembered.
pub const THROTTLED_ADDRESSES_MAX: usize = 1024;

// ---- files that clients send ----

/// Largest file that a client may send, in bytes. `--upload-bytes`.
pub const UPLOAD_BYTES: u64 = 64 << 20;
/// Largest value of `--upload-bytes`: what a 32-bit machine can count.
pub const UPLOAD_BYTES_MAX: u64 = u32::MAX as u64;
/// Bytes of one piece: what the loop waits for while the kernel copies it, well under a millisecond. A disk that
/// takes bytes more slowly than they come makes it wait longer, once the kernel holds back who writes; a smaller
/// piece would wait less, and cost every sender far away more round trips.
pub const UPLOAD_PIECE_BYTES_MAX: usize = 256 << 10;
/// Files on their way at once.
pub const UPLOADS_MAX: usize = 16;
/// A file is given up, and taken away, when no piece has come for this long: a phone may lose its network.
pub const UPLOAD_PATIENCE: Duration = Duration::from_secs(120);
/// A file's name is cut at this many bytes; with a number it still fits in Linux's `NAME_MAX` of 255.
pub const UPLOAD_NAME_BYTES_MAX: usize = 200;
/// Names tried when one is taken: `name (2).ext` and so on.
pub const UPLOAD_NAMES_TRIED_MAX: usize = 100;

const _: () = assert!(UPLOAD_PIECE_BYTES_MAX <= BODY_BYTES_MAX);

// ---- events ----

/// Events kept for `since=`.
pub const EVENTS_KEPT: usize = 1024;
/// Workspaces and panes of the registry.
pub const WORKSPACES_MAX: usize = 256;
/// Panes of the registry, over all workspaces: an event may carry every pane of a session.
pub const PANES_MAX: usize = 4096;

/// Panes that the server made by itself, of sessions without a terminal: the one that ended first leaves first.
pub const ENDED_PANES_MAX: usize = 64;

/// Longest id or name of a workspace or pane, in bytes. A sessionId fits, since it names a pane's resource.
pub const NAME_BYTES_MAX: usize = 1024;
/// Longest path in a body, in bytes: Linux's `PATH_MAX`.
pub const PATH_BYTES_MAX: usize = 4096;

// ---- what surrounds terminals ----

/// Status pills of one workspace: more would not fit beside its name.
pub const STATUS_PILLS_MAX: usize = 64;
/// Keys of `set-status` that are remembered for the settings page; the one seen first leaves first.
pub const HT_KEYS_MAX: usize = 256;
/// Longest key of a status pill, in bytes.
pub const KEY_BYTES_MAX: usize = 256;
/// Longest body of a notification or message of the log, in bytes: a page of text.
pub const MESSAGE_TEXT_BYTES_MAX: usize = 4096;
/// Lines of a workspace's log.
pub const LOG_LINES_MAX: usize = 200;
/// Notifications kept; the oldest leaves first.
pub const NOTIFICATIONS_MAX: usize = 50;
/// Decisions of auto-continue kept.
pub const AUDIT_ENTRIES_MAX: usize = 50;
/// Steps of one plan.
pub const PLAN_STEPS_MAX: usize = 200;
/// Panels of one surface.
pub const PANELS_MAX: usize = 256;
/// Content of one panel, in bytes: a photograph, or a screenshot of a large display.
pub const PANEL_BYTES_MAX: usize = 4 << 20;
/// Content of one surface's panels, in bytes.
pub const SURFACE_PANEL_BYTES_MAX: usize = 16 << 20;
/// Content of all panels, in bytes: scripts of many terminals together must not fill the machine.
pub const PANEL_BYTES_ALL_MAX: usize = 64 << 20;
/// Largest coordinate or side of a panel, either way, in CSS pixels: no display comes near it.
pub const PANEL_PIXELS_MAX: f64 = 100_000.0;
/// Deepest and highest place of a panel in the stack.
pub const PANEL_Z_MAX: i32 = 1_000_000;
/// Keys of the status bar, or ids of a list in the settings.
pub const SETTINGS_LIST_MAX: usize = 64;
/// A change of the state is on the disk after this long: what a burst changes is written once.
pub const STATE_SAVE_AFTER: Duration = Duration::from_millis(250);
/// The state file when it is read: all panes and workspaces at their longest would not fit, but what people
/// have is a thousandth of it.
pub const STATE_BYTES_MAX: u64 = 64 << 20;

// ---- the sideband ----

/// Longest line on descriptor 3, its end included. Larger content goes to descriptor 4.
pub const SIDEBAND_LINE_BYTES_MAX: usize = 1 << 20;
/// Rows of descriptor 3 that wait for a payload; above it descriptor 3 is not read.
pub const SIDEBAND_ROWS_MAX: usize = 64;
/// Bytes of such rows; above it descriptor 3 is not read.
pub const SIDEBAND_ROW_BYTES_MAX: usize = 2 << 20;
/// Bytes on descriptor 4 that no row has announced yet; above it descriptor 4 is not read.
pub const SIDEBAND_UNCLAIMED_BYTES_MAX: usize = 64 << 10;
/// How long bytes may stay unclaimed: they come with their row or a moment before it, and what a script wrote
/// too much of must not become the beginning of its next panel.
pub const SIDEBAND_UNCLAIMED_MAX: Duration = Duration::from_millis(500);
/// How long a payload may make no progress: its script has died.
pub const SIDEBAND_PATIENCE: Duration = Duration::from_secs(5);
/// What a `flush` gives up has stood still for this long. A script that lives writes on at once; whoever ended
/// one needs longer to start another.
pub const SIDEBAND_STILL: Duration = Duration::from_millis(200);
/// Longest patience that a row may ask for (`timeout`).
pub const SIDEBAND_PATIENCE_MAX: Duration = Duration::from_secs(60);
/// Events that a script has not read; above it, new ones are dropped.
pub const SIDEBAND_EVENT_BYTES_MAX: usize = 64 << 10;

/// Capacity of the pipes behind descriptors 3, 4 and 5, and what is taken from each in one turn: the whole of
/// it, so that a row that was written before some bytes is read before them. The pipes of 1,000 terminals stay
/// below what one user may have until each new pipe of his is a small one (`fs.pipe-user-pages-soft`, 16,384).
pub const SIDEBAND_PIPE_BYTES: [usize; 3] = [16 << 10, 32 << 10, 4 << 10];

// ---- metadata ----

/// Terminals are looked at this often, while there is somebody to tell.
pub const METADATA_INTERVAL: Duration = Duration::from_secs(1);
/// Entries of /proc that are looked at in one turn of the loop: about a millisecond.
pub const METADATA_BITE: usize = 64;
/// Processes of one terminal that are told, the first ones of a walk from the shell.
pub const TREE_PROCESSES_MAX: usize = 256;
/// A process's command line is cut at this many bytes.
pub const ARGV_BYTES_MAX: usize = 4096;
/// Listening ports of one terminal that are told.
pub const PORTS_MAX: usize = 128;
/// Bytes read of the kernel's socket table. Listeners stand in front.
pub const SOCKET_TABLE_BYTES_MAX: usize = 1 << 20;
/// Looks between two that go through every process's descriptors, whether or not listeners came or went.
pub const HELD_LOOKS: u32 = 10;
/// Descriptors looked at in one process for its listeners.
pub const PROCESS_DESCRIPTORS_MAX: usize = 4096;
/// Largest package.json or Cargo.toml that is read.
pub const MANIFEST_BYTES_MAX: u64 = 256 << 10;
/// Manifests remembered; above it all are forgotten and read again.
pub const MANIFESTS_KEPT: usize = 256;
/// Directories looked at on the way from the working directory to the root.
pub const PARENT_DIRECTORIES_MAX: usize = 64;
/// Scripts, binaries or features of one manifest that are told.
pub const MANIFEST_ENTRIES_MAX: usize = 200;
/// Two looks this far apart tell how much CPU is used meanwhile, when somebody asks who did not follow.
pub const METADATA_FIRST_INTERVAL: Duration = Duration::from_millis(250);
/// `git status` processes at once.
pub const GIT_RUNNING_MAX: usize = 2;
/// One that takes longer is killed: a tree on a network, or one of millions of files.
pub const GIT_TIME_MAX: Duration = Duration::from_secs(5);
/// A tree in whose terminals nothing happened is looked at this often at most: other programs change files too.
pub const GIT_QUIET_INTERVAL: Duration = Duration::from_secs(5);
/// All quiet trees together take one part in this many of a core: 1 %.
pub const GIT_QUIET_SHARE: u32 = 100;
/// All trees whose terminals are busy take one part in this many: 5 %.
pub const GIT_BUSY_SHARE: u32 = 20;
/// However long one takes, it is looked at after this long.
pub const GIT_INTERVAL_MAX: Duration = Duration::from_secs(300);
/// Output of `git status` that is read; a tree with more changes has its counts cut.
pub const GIT_STATUS_BYTES_MAX: usize = 1 << 20;

const _: () = assert!(PANEL_BYTES_MAX <= SURFACE_PANEL_BYTES_MAX);
const _: () = assert!(SURFACE_PANEL_BYTES_MAX <= PANEL_BYTES_ALL_MAX);
const _: () = assert!(SIDEBAND_LINE_BYTES_MAX <= SIDEBAND_ROW_BYTES_MAX);
const _: () = assert!(SIDEBAND_PIPE_BYTES[0] + SIDEBAND_PIPE_BYTES[1] <= READ_BYTES);
const _: () = assert!(SIDEBAND_STILL.as_millis() < SIDEBAND_PATIENCE.as_millis());
const _: () = assert!(SIDEBAND_PATIENCE.as_millis() <= SIDEBAND_PATIENCE_MAX.as_millis());

// ---- the system ----

/// Connections that wait to be accepted; the kernel cuts it to `net.core.somaxconn`.
pub const LISTEN_BACKLOG: i32 = 1024;
/// `sun_path` less its terminator, unix(7).
pub const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Sweeps over a session that is killed: each finds only what was forked during the one before.
pub const KILL_ROUNDS_MAX: usize = 8;

const _: () = assert!(SESSION_ID_BYTES_MAX < NAME_BYTES_MAX);
// ---- the mirror ----

/// How far back a session's log of its frames reaches, in bytes of frames ("2 MB per session").
pub const MIRROR_LOG_BYTES: usize = 2 << 20;
/// What that log may take in memory. It holds places, not bytes, mostly one to three of memory a frame;
/// only a session's own answers (`pong`, `error`) are in it as text.
pub const MIRROR_LOG_MEMORY_MAX: usize = 64 << 10;
/// Control frames that all sessions share: a session further behind gets a fresh `hello`. The largest
/// panels in a burst fit.
pub const MIRROR_CONTROL_BYTES: usize = 8 << 20;
/// What one control frame costs beside its text.
pub const MIRROR_CONTROL_OVERHEAD_BYTES: usize = 48;
/// A session without a socket is kept for this long.
pub const MIRROR_DETACHED_MAX: Duration = Duration::from_secs(600);
/// Sessions at once; above it the one that has been without a socket longest leaves.
pub const MIRROR_SESSIONS_MAX: usize = CONNECTIONS_MAX + 1024;
/// "PTY output is coalesced at 16 ms granularity ... at most 60 Hz": a sixtieth of a second.
pub const MIRROR_BATCH: Duration = Duration::from_micros(16_667);
/// Encoded batches that are kept for the next session at the same place, in bytes.
pub const MIRROR_ENCODED_BYTES_MAX: usize = 2 << 20;
/// See [`MIRROR_ENCODED_BYTES_MAX`]; about the surfaces that print in one turn.
pub const MIRROR_ENCODED_MAX: usize = 256;
/// Largest envelope of a client.
pub const MIRROR_FRAME_BYTES_MAX: usize = 256 << 10;
/// Largest message of a mirror socket; above it the connection closes with 1009.
pub const MIRROR_MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Largest `surfaceStdin`, decoded.
pub const MIRROR_STDIN_BYTES_MAX: usize = 64 << 10;
/// Frames a second that a connection may send; above it the socket is read later.
pub const MIRROR_FRAMES_PER_SECOND: u32 = 256;
/// Columns that a mirror client may ask for.
pub const MIRROR_COLS: (u16, u16) = (10, 500);
/// Rows that a mirror client may ask for.
pub const MIRROR_ROWS: (u16, u16) = (4, 500);
/// Longest `nonce` of a ping, in bytes: it comes back.
pub const MIRROR_NONCE_BYTES_MAX: usize = 256;
/// Answers that wait for a session's socket; above it the socket is not read.
pub const MIRROR_ANSWERS_BYTES_MAX: usize = 64 << 10;

// The largest legal input, as base64 in its envelope, must fit in the largest legal frame.
const _: () = assert!(MIRROR_STDIN_BYTES_MAX.div_ceil(3) * 4 + 1024 <= MIRROR_FRAME_BYTES_MAX);
const _: () = assert!(MIRROR_FRAME_BYTES_MAX < MIRROR_MESSAGE_BYTES_MAX);
const _: () = assert!(MIRROR_COLS.1 <= GRID_SIDE_MAX && MIRROR_ROWS.1 <= GRID_SIDE_MAX);

// ---- shell integration ----

/// Largest rc file of the user's that is copied to add our line (elvish). A larger one is no rc file.
pub const RC_BYTES_MAX: u64 = 1 << 20;

// ---- the command line ----

/// Output that the user's terminal has not taken; above it the socket, or the command's PTY, is not read.
pub const CLI_OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Client frames that the server has not acknowledged; above it no more input is read.
pub const CLI_IN_FLIGHT_BYTES_MAX: usize = 1 << 20;
/// Longest sequence that is looked at in output and input; queries, reports and modes are far shorter.
pub const CLI_SEQUENCE_BYTES_MAX: usize = 4 << 10;
/// Largest message of the server: a reset of the largest screen with its scrollback is one.
pub const CLI_MESSAGE_BYTES_MAX: usize = RESPONSE_BYTES_MAX;
/// Text of one request of `wharf send`: JSON makes it six times as long at worst, and it must fit in a body.
pub const CLI_SEND_BYTES_MAX: usize = BODY_BYTES_MAX / 8;
/// Written at once to a descriptor that may block: less than what a pipe that polls as writable takes.
pub const CLI_BLOCKING_WRITE_BYTES_MAX: usize = 512;
/// Pushes of keyboard flags that are counted; kitty's own stack is shorter.
pub const CLI_KEYBOARD_PUSHES_MAX: u32 = 64;
/// Keys of the longest detach sequence.
pub const CLI_DETACH_KEYS_MAX: usize = 4;
/// Longest access token: it travels in a header.
pub const TOKEN_BYTES_MAX: usize = 1024;
/// A server at the other end of the world has accepted a connection by then.
pub const CLI_CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// A live server has answered a request by then.
pub const CLI_ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// A websocket is connected and upgraded by then.
pub const CLI_OPEN_TIME_MAX: Duration = Duration::from_secs(15);
/// First wait before a lost connection is made again; each further one doubles.
pub const CLI_RETRY_FIRST: Duration = Duration::from_millis(200);
/// Longest wait: a server that comes back is found within this time.
pub const CLI_RETRY_MAX: Duration = Duration::from_secs(15);
/// Half a report of the user's terminal is waited for this long, then it counts as keys.
pub const CLI_REPORT_HOLD: Duration = Duration::from_millis(50);
/// A loss of connection that is shorter is not worth a word.
pub const CLI_LOSS_QUIET: Duration = Duration::from_millis(1500);
/// The greeting covers the last row for this long.
pub const CLI_GREETING: Duration = Duration::from_secs(3);
/// The round trip is measured at most this often, and only while there is output.
pub const CLI_PING_INTERVAL: Duration = Duration::from_secs(10);
/// A command starts without the server's word after this time.
pub const CLI_REGISTER_TIME_MAX: Duration = Duration::from_secs(5);
/// What is left for a terminal or for the server at the end is taken within this time.
pub const CLI_LEAVE_TIME_MAX: Duration = Duration::from_secs(5);
/// Smallest `--replay-bytes`: the screen model must catch up before the ring evicts what it has not seen.
pub const REPLAY_BYTES_MIN: usize = 1 << 20;
/// Largest `--replay-bytes`, per terminal: more is a log, and belongs in a file.
pub const REPLAY_BYTES_MAX: usize = 1 << 30;
/// Longest `--linger`: a year is "for ever", and no clock counts it wrong.
pub const LINGER_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

const _: () = assert!(6 * CLI_SEND_BYTES_MAX + 1024 <= BODY_BYTES_MAX);
const _: () = assert!(SCREEN_LAG_BYTES_MAX + PTY_BITE_BYTES < REPLAY_BYTES_MIN);
const _: () = assert!(CLI_OPEN_TIME_MAX.as_secs() < SILENCE_MAX.as_secs());

const _: () = assert!(OUTBOUND_BYTES_LOW < OUTBOUND_BYTES_HIGH);
const _: () = assert!(OUTBOUND_BYTES_SLOWEST <= OUTBOUND_BYTES_HIGH);
const _: () = assert!(OUTPUT_FRAME_BYTES_SLOWEST <= OUTPUT_FRAME_BYTES_MAX);
// Sizes between them are powers of two.
const _: () = assert!(OUTPUT_FRAME_BYTES_SLOWEST.is_power_of_two());
const _: () = assert!(OUTPUT_FRAME_BYTES_FIRST <= OUTPUT_FRAME_BYTES_MAX);
const _: () = assert!(UNSENT_BYTES_MIN <= UNSENT_BYTES_MAX);
const _: () = assert!(LINK_MEASURES_MIN <= LINK_MEASURES);
// The model must catch up before the ring evicts what it has not seen, one read of the PTY included.
const _: () = assert!(SCREEN_LAG_BYTES_MAX + PTY_BITE_BYTES < REPLAY_BYTES);
const _: () = assert!(PTY_BITE_BYTES <= READ_BYTES && PTY_BITE_BYTES <= PTY_TURN_BYTES);
const _: () = assert!(OUTPUT_FRAME_BYTES_MAX <= OUTBOUND_BYTES_HIGH);
const _: () = assert!(PING_AFTER.as_secs() * 2 < SILENCE_MAX.as_secs());
const _: () = assert!(HEAD_BYTES_MAX <= READ_BYTES);
