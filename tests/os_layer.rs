//! The thin layer over the system, against the real system: children, terminals, signals, sockets.
//!
//! Signals, children and limits belong to the whole process, so these tests run one at a time. What must start
//! under other conditions (ignored signals, passed descriptors, low limits) runs this binary again as a
//! helper: those are the ignored tests at the end.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, Rlimit};

use wharf::os::listen::{self, AcceptFailure, ListenAddr, Listener, Peer, Stream};
use wharf::os::signals::{Received, SIGHUP, SIGTERM, SIGWINCH, Signals};
use wharf::os::spawn::{self, Child, Exit, Failed, Program, Reaped, Signal};
use wharf::os::{proc, pty};

// ---- starting ----

#[test]
fn a_child_leads_a_session_on_a_terminal_of_the_size_that_was_asked_for() {
    let _alone = alone();
    let child = start("ps -o tty=,sid=,pgid=,tpgid= -p $$; stty size; stty -a | grep -o -- -*iutf8");
    let pid = child.pid.to_string();
    let (output, exit) = finish(child);
    let words: Vec<&str> = output.split_ascii_whitespace().collect();
    assert!(words[0].starts_with("pts/"), "{output}");
    assert_eq!(words[1..], [&pid, &pid, &pid, "45", "123", "iutf8"]);
    assert_eq!(exit, Exit::Code(0));
}

#[test]
fn a_new_size_is_told_to_the_foreground_program() {
    let _alone = alone();
    let mut child = start("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done");
    read_until(&mut child, "ready");
    pty::set_size(&child.master, 90, 30).unwrap();
    assert_eq!(pty::size(&child.master).unwrap(), (90, 30));
    assert!(finish(child).0.contains("30 90"));
}

#[test]
fn control_c_interrupts_the_foreground_program() {
    let _alone = alone();
    let mut child = start("echo ready; exec sleep 1000");
    read_until(&mut child, "ready");
    assert_eq!(pty::foreground_group(&child.master).unwrap(), Some(child.pid));
    assert_eq!(pty::write(&child.master, b"\x03").unwrap(), 1);
    assert_eq!(finish(child).1, Exit::Signal(2));
}

#[test]
fn all_output_of_a_child_that_is_gone_can_still_be_read_and_then_comes_the_end() {
    let _alone = alone();
    let child = start("stty -opost; seq 1 20000; exit 3");
    let (output, exit) = finish(child);
    assert!(output.ends_with("\n19999\n20000\n"));
    assert_eq!(exit, Exit::Code(3));
}

#[test]
fn reading_and_writing_never_block() {
    let _alone = alone();
    let (master, _slave) = pty::open(80, 24).unwrap();
    let mut buffer = [0; 16];
    assert_eq!(pty::read(&master, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    let mut taken = 0;
    let full = loop {
        match pty::write(&master, &[b'x'; 4096]) {
            Ok(count) => taken += count,
            Err(error) => break error.kind(),
        }
        assert!(taken < 1 << 20, "nobody reads, yet everything is taken");
    };
    assert_eq!(full, io::ErrorKind::WouldBlock);
}

#[test]
fn without_a_session_nobody_is_in_the_foreground() {
    let _alone = alone();
    let (master, _slave) = pty::open(80, 24).unwrap();
    assert_eq!(pty::foreground_group(&master).unwrap(), None);
}

#[test]
fn a_child_has_three_descriptors_even_when_the_server_inherited_more() {
    let _alone = alone();
    let files: Vec<fs::File> = (0..50).map(|_| fs::File::open("/dev/null").unwrap()).collect();
    for file in &files {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    }
    assert_eq!(descriptors_of_a_child(), ["0", "1", "2"]);
}

#[test]
fn a_child_with_channels_has_three_descriptors_more_and_we_the_other_ends() {
    let _alone = alone();
    let before = proc::open_descriptors().unwrap();
    let script = "ls /proc/$$/fd; echo rows >&3; echo data >&4; read -r line <&5; echo got $line";
    let mut child = spawn::spawn_with_channels(&shell(script), 80, 24).unwrap();
    assert_eq!(proc::open_descriptors().unwrap(), before + 4);
    let mut channels = child.channels.take().unwrap();
    channels.events.write_all(b"an event\n").unwrap();
    let (output, exit) = finish(child);
    assert_eq!(
        output.split_whitespace().collect::<Vec<_>>(),
        ["0", "1", "2", "3", "4", "5", "got", "an", "event"]
    );
    assert_eq!(exit, Exit::Code(0));
    for (mut pipe, text) in [(channels.rows, "rows\n"), (channels.data, "data\n")] {
        let mut read = String::new();
        pipe.read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
    // Nobody can read it any more; the next child has pipes of its own.
    assert_eq!(channels.events.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(descriptors_of_a_child(), ["0", "1", "2"]);
}

#[test]
fn the_pipes_of_a_child_never_block_us() {
    let _alone = alone();
    let mut child = spawn::spawn_with_channels(&shell("read line"), 80, 24).unwrap();
    let mut channels = child.channels.take().unwrap();
    for pipe in [&mut channels.rows, &mut channels.data] {
        assert_eq!(pipe.read(&mut [0; 16]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
    let mut taken = 0;
    while let Ok(count) = channels.events.write(&[b'x'; 4096]) {
        taken += count;
        assert!(taken < 1 << 20, "nobody reads, yet everything is taken");
    }
    pty::write(&child.master, b"\n").unwrap();
    finish(child);
}

#[test]
fn a_child_starts_where_it_was_asked_to_with_the_arguments_and_the_environment_it_was_given() {
    let _alone = alone();
    let place = TempDir::new();
    let link = place.path().join("link");
    std::os::unix::fs::symlink("/usr", &link).unwrap();
    let program = Program {
        path: "/bin/sh".into(),
        arg0: Some("mysh".into()),
        args: ["-c", "echo $0 $1; pwd; pwd -P; env", "zero", "one two"].map(OsString::from).into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("NAME".into(), "a=b".into())],
        cwd: link.clone(),
    };
    let (output, _) = finish(spawn::spawn(&program, 80, 24).unwrap());
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..3], ["zero one two", link.to_str().unwrap(), "/usr"]);
    let mut env: Vec<&str> = lines[3..].to_vec();
    env.retain(|line| !line.starts_with("_=") && !line.starts_with("OLDPWD="));
    env.sort_unstable();
    assert_eq!(env, ["NAME=a=b", "PATH=/usr/bin:/bin", &format!("PWD={}", link.display())]);
}

#[test]
fn a_start_that_fails_names_what_failed() {
    let _alone = alone();
    let place = TempDir::new();
    let plain = place.path().join("plain");
    fs::write(&plain, "text").unwrap();
    let orphan = place.path().join("orphan");
    fs::write(&orphan, "#!/nonexistent/interpreter\n").unwrap();
    fs::set_permissions(&orphan, fs::Permissions::from_mode(0o755)).unwrap();

    let sh = || Program { path: "/bin/sh".into(), arg0: None, args: vec![], env: vec![], cwd: "/".into() };
    let cases = [
        (
            Program { path: "/nonexistent".into(), ..sh() },
            Failed::Program("/nonexistent".into()),
            "cannot run /nonexistent: No such file",
        ),
        (Program { path: plain.clone(), ..sh() }, Failed::Program(plain.clone()), "Permission denied"),
        (Program { path: "/etc".into(), ..sh() }, Failed::Program("/etc".into()), "Permission denied"),
        (Program { path: orphan.clone(), ..sh() }, Failed::Program(orphan), "its interpreter does not exist"),
        (
            Program { cwd: "/nonexistent".into(), ..sh() },
            Failed::Directory("/nonexistent".into()),
            "cannot start in /nonexistent: No such file",
        ),
        (Program { cwd: plain.clone(), ..sh() }, Failed::Directory(plain), "Not a directory"),
        (
            Program { args: vec!["x".repeat(256 << 10).into()], ..sh() },
            Failed::Arguments,
            "Argument list too long",
        ),
        (Program { args: vec!["a\0b".into()], ..sh() }, Failed::Arguments, "nul byte"),
    ];
    for (program, failed, message) in cases {
        let error = spawn::spawn(&program, 80, 24).unwrap_err();
        assert_eq!(error.failed, failed);
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.is_requests_fault());
    }
}

#[test]
fn failed_starts_leave_no_descriptor_and_no_zombie() {
    let _alone = alone();
    let before = proc::open_descriptors().unwrap();
    for turn in 0..500 {
        let (path, cwd) = if turn % 2 == 0 { ("/nonexistent", "/") } else { ("/bin/sh", "/nonexistent") };
        let program = Program { path: path.into(), arg0: None, args: vec![], env: vec![], cwd: cwd.into() };
        assert!(spawn::spawn(&program, 80, 24).is_err());
        assert!(spawn::spawn_with_channels(&program, 80, 24).is_err());
    }
    assert_eq!(proc::open_descriptors().unwrap(), before);
    assert_eq!(spawn::reap(), None);
}

#[test]
fn a_start_without_descriptors_fails_cleanly() {
    assert_eq!(helper("starved", &["env"]), "ok\n");
}

#[test]
fn a_child_gets_the_descriptor_limit_that_the_server_was_started_with() {
    assert_eq!(
        helper("raised", &["sh", "-c", "ulimit -S -n 100; exec \"$@\"", "sh"]),
        "server raised, child 100\n"
    );
}

#[test]
fn ignored_and_blocked_signals_of_the_servers_parent_do_not_reach_the_child() {
    let parent =
        ["env", "--ignore-signal=CHLD,HUP,INT,QUIT,PIPE,TSTP,TTOU,USR1", "--block-signal=TERM,USR2,WINCH"];
    assert_eq!(helper("inherited_signals", &parent), "SigBlk 0, SigIgn 0, Code(9)\n");
}

// ---- ending ----

#[test]
fn two_hundred_children_that_end_at_once_are_all_reaped_with_their_codes() {
    let _alone = alone();
    let mut signals = Signals::install().unwrap();
    let children: Vec<Child> = (0..200).map(|n| start(&format!("read line; exit {n}"))).collect();
    for child in &children {
        pty::write(&child.master, b"\n").unwrap();
    }
    let mut expected: Vec<Reaped> =
        children.iter().zip(0..).map(|(child, n)| Reaped { pid: child.pid, exit: Exit::Code(n) }).collect();
    let (mut reaped, mut told) = (Vec::new(), false);
    while reaped.len() < 200 {
        wait_readable(signals.as_fd());
        told |= signals.drain().child;
        reaped.extend(std::iter::from_fn(spawn::reap));
    }
    assert!(told);
    reaped.sort_unstable_by_key(|one| one.pid);
    expected.sort_unstable_by_key(|one| one.pid);
    assert_eq!(reaped, expected);
    assert_eq!(spawn::reap(), None);
}

#[test]
fn a_stopped_child_is_no_exit_and_a_killed_one_tells_its_signal() {
    let _alone = alone();
    let child = start("kill -STOP $$");
    wait_for(|| proc::stat(child.pid).is_some_and(|stat| stat.state == b'T'));
    assert_eq!(spawn::reap(), None);
    spawn::signal_group(child.pid, Signal::KILL);
    assert_eq!(finish(child).1, Exit::Signal(9));
}

#[test]
fn a_hang_up_lets_a_program_say_goodbye() {
    let _alone = alone();
    let mut child = start("trap 'echo bye; exit 4' HUP; echo ready; while :; do sleep 0.1; done");
    read_until(&mut child, "ready");
    spawn::signal_group(child.pid, Signal::HUP);
    let (output, exit) = finish(child);
    assert!(output.contains("bye"));
    assert_eq!(exit, Exit::Code(4));
}

#[test]
fn a_hang_up_reaches_the_job_in_the_foreground_too() {
    let _alone = alone();
    let mut child = start("set -m; trap 'echo caught' HUP; echo ready; sleep 1000; echo slept $?; exit 5");
    read_until(&mut child, "ready");
    wait_for(|| pty::foreground_group(&child.master).unwrap().is_some_and(|group| group != child.pid));
    spawn::signal_group(child.pid, Signal::HUP);
    let (output, exit) = finish(child);
    assert!(output.contains("caught") && output.contains("slept 129"), "{output}");
    assert_eq!(exit, Exit::Code(5));
}

#[test]
fn a_hang_up_wakes_a_stopped_child() {
    let _alone = alone();
    let child = start("kill -STOP $$; sleep 1000");
    wait_for(|| proc::stat(child.pid).is_some_and(|stat| stat.state == b'T'));
    spawn::signal_group(child.pid, Signal::HUP);
    assert_eq!(finish(child).1, Exit::Signal(1));
}

#[test]
fn what_ignores_the_hang_up_is_killed_with_its_whole_session() {
    let _alone = alone();
    let mut child =
        start("trap '' HUP TERM; set -m; sleep 1000 & sleep 1001 & set +m; echo ready; sleep 1002");
    read_until(&mut child, "ready");
    wait_for(|| proc::session_members(child.pid).len() == 4);
    spawn::signal_group(child.pid, Signal::HUP);
    assert_eq!(proc::session_members(child.pid).len(), 4);
    assert!(spawn::kill_session(child.pid) >= 4);
    let pid = child.pid;
    assert_eq!(finish(child).1, Exit::Signal(9));
    wait_for(|| proc::session_members(pid).is_empty());
}

#[test]
fn orphans_of_a_session_are_found_after_its_leader_was_reaped() {
    let _alone = alone();
    let mut child = start("trap '' HUP; (sleep 1000 & sleep 1001 &); echo ready; exit 7");
    read_until(&mut child, "ready");
    assert_eq!(reap_one(child.pid), Exit::Code(7));
    assert_eq!(proc::session_members(child.pid).len(), 2);
    assert!(spawn::kill_session(child.pid) >= 2);
    wait_for(|| proc::session_members(child.pid).is_empty());
    assert_eq!(spawn::kill_session(child.pid), 0);
}

#[test]
fn as_the_first_process_of_a_container_orphans_are_reaped_too() {
    let unshare = ["unshare", "--pid", "--fork", "--mount-proc"];
    let is_allowed = {
        let _alone = alone();
        Command::new(unshare[0]).args(&unshare[1..]).arg("true").status().is_ok_and(|status| status.success())
    };
    // Where namespaces are not allowed there is no such container either.
    if is_allowed {
        assert_eq!(helper("init", &unshare), "pid 1, orphan Signal(9), child Code(7)\n");
    }
}

#[test]
fn what_is_known_about_a_running_child() {
    let _alone = alone();
    let place = TempDir::new();
    let gone = place.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut child = start(&format!("cd {}; echo ready; exec sleep 1000", gone.display()));
    read_until(&mut child, "ready");
    wait_for(|| proc::command_name(child.pid).is_some_and(|name| name == "sleep"));
    assert_eq!(proc::cwd(child.pid).unwrap(), gone);
    fs::remove_dir(&gone).unwrap();
    assert_eq!(proc::cwd(child.pid).unwrap(), gone);
    let stat = proc::stat(child.pid).unwrap();
    assert_eq!((stat.group, stat.session, stat.foreground_group), (child.pid, child.pid, child.pid));
    assert_eq!(stat.parent, std::process::id().cast_signed());
    let pid = child.pid;
    spawn::signal_group(pid, Signal::TERM);
    assert_eq!(finish(child).1, Exit::Signal(15));
    assert_eq!((proc::cwd(pid), proc::command_name(pid), proc::stat(pid)), (None, None, None));
}

// ---- signals ----

#[test]
fn signals_wake_the_loop_and_say_which_they_were() {
    let _alone = alone();
    let mut signals = Signals::install_for(&[SIGTERM, SIGHUP, SIGWINCH]).unwrap();
    let mut sum = Received::default();
    let mut drain = |signals: &mut Signals| {
        let received = signals.drain();
        sum.terminate |= received.terminate;
        sum.hangup |= received.hangup;
        sum.resize |= received.resize;
        sum
    };
    assert_eq!(drain(&mut signals), Received::default());
    let cases = [
        (Signal::TERM, Received { terminate: true, ..Received::default() }),
        (Signal::HUP, Received { terminate: true, hangup: true, ..Received::default() }),
        (Signal::WINCH, Received { terminate: true, hangup: true, resize: true, child: false }),
    ];
    for (signal, expected) in cases {
        for _ in 0..1000 {
            kill(std::process::id().cast_signed(), signal);
        }
        wait_readable(signals.as_fd());
        // Whichever thread takes a signal may do so a moment later.
        wait_for(|| drain(&mut signals) == expected);
    }
    wait_for(|| signals.drain() == Received::default() && !is_readable(signals.as_fd()));
}

// ---- listening: TCP ----

#[test]
fn the_forms_of_a_listen_address() {
    let _alone = alone();
    let tcp = |text: &str| ListenAddr::Tcp(text.parse().unwrap());
    assert_eq!("127.0.0.1:3000".parse(), Ok(tcp("127.0.0.1:3000")));
    assert_eq!("[::1]:3000".parse(), Ok(tcp("[::1]:3000")));
    assert_eq!("unix:/run/w.sock".parse(), Ok(ListenAddr::Unix("/run/w.sock".into())));
    assert_eq!("fd".parse(), Ok(ListenAddr::Passed));
    for malformed in ["", "3000", ":3000", "unix:", "::1:3000", "localhost", "localhost:99999", "http://a:1"]
    {
        assert!(malformed.parse::<ListenAddr>().is_err());
        let message = listen::resolve(malformed).unwrap_err();
        assert!(message.contains("give HOST:PORT"), "{message}");
    }
    assert!(listen::resolve("localhost:3000").unwrap().contains(&tcp("127.0.0.1:3000")));
    assert_eq!(listen::resolve("[::1]:0"), Ok(vec![tcp("[::1]:0")]));
    assert!(
        listen::resolve("no-such-host.invalid:1")
            .unwrap_err()
            .starts_with("cannot listen on no-such-host.invalid:1: ")
    );
}

#[test]
fn the_same_port_can_be_had_for_v4_and_v6_and_only_once_each() {
    let _alone = alone();
    let v6 = open_one(&"[::]:0".parse().unwrap());
    let Ok(ListenAddr::Tcp(bound)) = v6.address() else { panic!() };
    let _v4 = open_one(&format!("0.0.0.0:{}", bound.port()).parse().unwrap());
    let again = listen::open(&ListenAddr::Tcp(bound)).unwrap_err();
    assert_eq!(
        again.to_string(),
        format!("{bound} is already in use; stop the other server or choose another --listen")
    );
    let foreign = listen::open(&"192.0.2.1:0".parse().unwrap()).unwrap_err();
    assert_eq!(foreign.to_string(), "192.0.2.1:0 is no address of this machine; choose another --listen");
}

#[test]
fn an_accepted_tcp_connection_is_tuned_and_knows_both_ends_and_the_peers_user() {
    let _alone = alone();
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let listener = open_one(&host.parse().unwrap());
        assert_eq!(accept_error(&listener), AcceptFailure::WouldBlock);
        let Ok(ListenAddr::Tcp(bound)) = listener.address() else { panic!() };
        let client = TcpStream::connect(bound).unwrap();
        let accepted = listen::accept(&listener).unwrap();
        let (local, remote) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
        assert_eq!(accepted.peer, Peer::Tcp { local, remote });
        let Stream::Tcp(mut stream) = accepted.stream else { panic!() };
        assert_is_ours(stream.as_fd());
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        listen::tune(&stream).unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(
            socket2::SockRef::from(&stream).tcp_notsent_lowat().unwrap(),
            wharf::limits::UNSENT_BYTES_FIRST as u32
        );
        assert_eq!(proc::tcp_owner(local, remote), Some(proc::own_uid()));
        drop(client);
        assert_eq!(proc::tcp_owner(local, remote), None, "a closed socket has no owner, least of all root");
    }
}

#[test]
fn the_owner_of_another_users_connection_is_that_user() {
    if proc::own_uid() != 0 {
        return;
    }
    let _alone = alone();
    let listener = open_one(&"127.0.0.1:0".parse().unwrap());
    let Ok(ListenAddr::Tcp(bound)) = listener.address() else { panic!() };
    let script = format!(
        "import os, socket, sys, encodings.idna\nos.setuid(12345)\ns = socket.create_connection(('127.0.0.1', {}))\nprint('connected', flush=True)\nsys.stdin.read()",
        bound.port()
    );
    let mut peer = Command::new("python3")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 9];
    peer.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let Peer::Tcp { local, remote } = listen::accept(&listener).unwrap().peer else { panic!() };
    assert_eq!(proc::tcp_owner(local, remote), Some(12345));
    drop(peer.stdin.take());
    peer.wait().unwrap();
    assert_eq!(proc::tcp_owner(local, remote), None);
}

#[test]
fn accept_errors_are_sorted_by_what_to_do_next() {
    let _alone = alone();
    let sorted = |errno: rustix::io::Errno| listen::accept_failure(&errno.into());
    use rustix::io::Errno;
    assert_eq!(sorted(Errno::AGAIN), AcceptFailure::WouldBlock);
    for errno in [Errno::CONNABORTED, Errno::PROTO, Errno::INTR, Errno::PERM, Errno::NETDOWN, Errno::NOTCONN]
    {
        assert_eq!(sorted(errno), AcceptFailure::Connection);
    }
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::BADF] {
        assert_eq!(sorted(errno), AcceptFailure::Resources);
    }
}

// ---- listening: Unix ----

#[test]
fn a_unix_socket_is_private_and_gone_when_its_listener_is() {
    let _alone = alone();
    let place = TempDir::new();
    let path = place.path().join("deep/er/wharf.sock");
    let umask = rustix::process::umask(rustix::fs::Mode::empty());
    let listener = open_one(&ListenAddr::Unix(path.clone()));
    rustix::process::umask(umask);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&place.path().join("deep/er/wharf.sock.lock")), 0o600);
    assert_eq!(mode(&place.path().join("deep")), 0o700);
    assert_eq!(mode(&place.path().join("deep/er")), 0o700);
    assert_is_ours(listener.as_fd());
    assert_eq!(listener.address().unwrap(), ListenAddr::Unix(path.clone()));

    assert_eq!(accept_error(&listener), AcceptFailure::WouldBlock);
    let _client = UnixStream::connect(&path).unwrap();
    let accepted = listen::accept(&listener).unwrap();
    assert_eq!(accepted.peer, Peer::Unix { uid: proc::own_uid() });
    let Stream::Unix(stream) = accepted.stream else { panic!() };
    assert_is_ours(stream.as_fd());

    drop(listener);
    assert!(!path.exists());
}

#[test]
fn a_socket_path_that_is_too_long_is_refused_with_its_length() {
    let _alone = alone();
    let path = PathBuf::from(format!("/tmp/{}", "x".repeat(103)));
    let error = listen::open(&ListenAddr::Unix(path)).unwrap_err();
    assert!(error.to_string().starts_with("socket path is 108 bytes, at most 107: /tmp/xx"), "{error}");
    let place = TempDir::new();
    let name = "x".repeat(107 - place.path().as_os_str().len() - 1);
    open_one(&ListenAddr::Unix(place.path().join(name)));
}

#[test]
fn a_socket_of_a_running_server_is_refused_even_while_that_one_is_stopped_and_reclaimed_once_it_was_killed() {
    let _alone = alone();
    let place = TempDir::new();
    let path = place.path().join("wharf.sock");
    let address = ListenAddr::Unix(path.clone());
    let mut holder =
        helper_command("holder", &["env"]).env("HELD", &path).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = holder.stdout.take().unwrap();
    wait_for(|| path.exists());
    let pid = holder.id().cast_signed();
    let refusal = format!(
        "{} is held by a running wharf (pid {pid}); stop it or choose another --runtime-dir",
        path.display()
    );
    let inode = fs::symlink_metadata(&path).unwrap().ino();
    assert_eq!(listen::open(&address).unwrap_err().to_string(), refusal);
    kill(pid, Signal::STOP);
    wait_for(|| proc::stat(pid).is_some_and(|stat| stat.state == b'T'));
    assert_eq!(listen::open(&address).unwrap_err().to_string(), refusal);
    assert_eq!(fs::symlink_metadata(&path).unwrap().ino(), inode);
    UnixStream::connect(&path).unwrap();

    kill(pid, Signal::KILL);
    holder.wait().unwrap();
    let _ = stdout.read_to_string(&mut String::new());
    assert!(path.exists(), "killed servers leave their socket");
    let listener = open_one(&address);
    UnixStream::connect(&path).unwrap();
    listen::accept(&listener).unwrap();
}

#[test]
fn what_is_not_a_stale_socket_is_never_removed() {
    let _alone = alone();
    let place = TempDir::new();
    let file = place.path().join("file");
    fs::write(&file, "precious").unwrap();
    let error = listen::open(&ListenAddr::Unix(file.clone())).unwrap_err();
    assert!(
        error.to_string().ends_with("exists and is not a socket; remove it or choose another path"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");

    let socket = place.path().join("socket");
    let foreign = UnixListener::bind(&socket).unwrap();
    let error = listen::open(&ListenAddr::Unix(socket.clone())).unwrap_err();
    assert!(
        error.to_string().ends_with("is another program's socket; stop it or choose another path"),
        "{error}"
    );
    drop(foreign);
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    open_one(&ListenAddr::Unix(socket));

    let victim = place.path().join("victim");
    std::os::unix::fs::symlink(&victim, place.path().join("trap.lock")).unwrap();
    let error = listen::open(&ListenAddr::Unix(place.path().join("trap"))).unwrap_err();
    assert!(error.to_string().starts_with("cannot lock "), "{error}");
    assert!(!victim.exists());
}

// ---- listening: passed by systemd ----

#[test]
fn passed_sockets_are_taken_when_they_are_meant_for_us() {
    let place = TempDir::new();
    let path = place.path().join("passed.sock");
    let script = "
import os, socket, sys
tcp = socket.socket(); tcp.bind(('127.0.0.1', 0)); tcp.listen()
unix = socket.socket(socket.AF_UNIX); unix.bind(sys.argv[1]); unix.listen()
idle = socket.socket()
made = [os.dup(s.fileno()) for s in (tcp, unix, idle)]
os.closerange(3, min(made))
for n, fd in enumerate(made): os.dup2(fd, 3 + n, True)
os.environ['LISTEN_PID'] = str(os.getpid() + int(sys.argv[2]))
os.environ['LISTEN_FDS'] = sys.argv[3]
os.environ['PORT'] = str(tcp.getsockname()[1])
os.execvp(sys.argv[4], sys.argv[4:])
";
    let passed = |pid_offset: &str, count: &str| {
        let _ = fs::remove_file(&path);
        helper("passed", &["python3", "-c", script, path.to_str().unwrap(), pid_offset, count])
    };
    assert_eq!(passed("0", "2"), format!("tcp, {}, child 0 1 2\n", path.display()));
    assert!(path.exists(), "a passed socket is not ours to unlink");
    let refused =
        "--listen fd: no sockets were passed (LISTEN_FDS, LISTEN_PID); start it from a systemd socket unit\n";
    assert_eq!(passed("1", "2"), refused);
    assert_eq!(passed("0", "0"), refused);
    let idle =
        "--listen fd: descriptor 5: is not a listening stream socket; use ListenStream= with Accept=no\n";
    assert_eq!(passed("0", "3"), idle);
}

// ---- this user's own places ----

#[test]
fn a_private_directory_is_made_or_refused() {
    let _alone = alone();
    let place = TempDir::new();
    let dir = place.path().join("state/wharf");
    proc::private_dir(&dir).unwrap();
    assert_eq!(mode(&dir), 0o700);
    proc::private_dir(&dir).unwrap();

    fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
    let shown = dir.display();
    let open = format!("{shown} is open to other users (mode 750); run: chmod 700 {shown}");
    assert_eq!(proc::private_dir(&dir), Err(open));

    let link = place.path().join("link");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    assert!(proc::private_dir(&link).unwrap_err().ends_with("is not a directory itself; choose another"));

    if proc::own_uid() == 0 {
        std::os::unix::fs::chown(&dir, Some(12345), None).unwrap();
        let foreign = format!("{shown} belongs to user 12345, not to us; choose another directory");
        assert_eq!(proc::private_dir(&dir), Err(foreign));
    }
}

#[test]
fn random_bytes_are_not_the_same_twice() {
    let _alone = alone();
    let (one, two): ([u8; 32], [u8; 32]) = (proc::random_bytes().unwrap(), proc::random_bytes().unwrap());
    assert_ne!(one, two);
}

#[test]
fn this_process_knows_its_own_size() {
    let _alone = alone();
    assert!(proc::own_rss().unwrap() > 100 << 10);
    let before = proc::open_descriptors().unwrap();
    let _file = fs::File::open("/dev/null").unwrap();
    assert_eq!(proc::open_descriptors().unwrap(), before + 1);
}

// ---- tools of the tests ----

static TURN: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn shell(script: &str) -> Program {
    Program {
        path: "/bin/sh".into(),
        arg0: None,
        args: vec!["-c".into(), script.into()],
        env: spawn::base_environment(&[]),
        cwd: "/".into(),
    }
}

fn start(script: &str) -> Child {
    spawn::spawn(&shell(script), 123, 45).unwrap()
}

fn run(script: &str) -> String {
    finish(start(script)).0
}

fn descriptors_of_a_child() -> Vec<String> {
    // No pipe here: the shell would hold it for a moment.
    run("ls /proc/$$/fd").split_ascii_whitespace().map(str::to_owned).collect()
}

/// All output up to the end, and how it ended.
fn finish(child: Child) -> (String, Exit) {
    let mut output = Vec::new();
    while read_some(&child, &mut output) > 0 {}
    (String::from_utf8(output).unwrap(), reap_one(child.pid))
}

fn read_until(child: &mut Child, word: &str) {
    let mut output = Vec::new();
    while !String::from_utf8_lossy(&output).contains(word) {
        assert_ne!(read_some(child, &mut output), 0, "ended before {word:?}");
    }
}

fn read_some(child: &Child, output: &mut Vec<u8>) -> usize {
    wait_readable(child.master.as_fd());
    let mut buffer = [0; 4096];
    let count = pty::read(&child.master, &mut buffer).unwrap();
    output.extend_from_slice(&buffer[..count]);
    count
}

fn reap_one(pid: i32) -> Exit {
    let mut found = None;
    wait_for(|| {
        found = spawn::reap().filter(|reaped| reaped.pid == pid);
        found.is_some()
    });
    found.unwrap().exit
}

/// Gives up after half a minute: a test that hangs tells nothing.
fn wait_for(mut condition: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came true");
}

fn wait_readable(fd: BorrowedFd<'_>) {
    assert!(poll(fd, 30), "nothing came");
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    poll(fd, 0)
}

fn poll(fd: BorrowedFd<'_>, seconds: i64) -> bool {
    let patience = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut fds, Some(&patience))).unwrap() > 0
}

fn kill(pid: i32, signal: Signal) {
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn open_one(address: &ListenAddr) -> Listener {
    let mut listeners = listen::open(address).unwrap();
    assert_eq!(listeners.len(), 1);
    listeners.remove(0)
}

fn accept_error(listener: &Listener) -> AcceptFailure {
    listen::accept_failure(&listen::accept(listener).unwrap_err())
}

fn assert_is_ours(fd: BorrowedFd<'_>) {
    assert!(rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    assert!(rustix::fs::fcntl_getfl(fd).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

struct TempDir(PathBuf);

impl TempDir {
    fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wharf-os-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().canonicalize().unwrap().join(name);
        fs::create_dir(&path).unwrap();
        TempDir(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// This binary again, running one ignored test under `parent`. It leaves its answer in the file `ANSWER`.
fn helper_command(name: &str, parent: &[&str]) -> Command {
    let mut command = Command::new(parent[0]);
    command.args(&parent[1..]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("helper_{name}"), "--ignored", "--nocapture"]);
    command
}

fn helper(name: &str, parent: &[&str]) -> String {
    let _alone = alone();
    let place = TempDir::new();
    let answer = place.path().join("answer");
    let output = helper_command(name, parent).env("ANSWER", &answer).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    fs::read_to_string(answer).unwrap()
}

fn answer(text: &str) {
    fs::write(std::env::var_os("ANSWER").unwrap(), format!("{text}\n")).unwrap();
}

// ---- helpers ----

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_starved() {
    let used = u64::try_from(proc::open_descriptors().unwrap()).unwrap();
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    let limit_to = |current: u64| {
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum }).unwrap();
    };
    let listener = open_one(&"127.0.0.1:0".parse().unwrap());
    let Ok(ListenAddr::Tcp(bound)) = listener.address() else { panic!() };
    let _client = TcpStream::connect(bound).unwrap();
    limit_to(0);
    assert_eq!(accept_error(&listener), AcceptFailure::Resources);
    // Every step of a start that needs a descriptor meets the limit once.
    let mut failures = Vec::new();
    let mut started = None;
    for room in used + 2.. {
        limit_to(room);
        let result = spawn::spawn_with_channels(&shell("exit 0"), 80, 24);
        limit_to(1024.min(maximum.unwrap_or(1024)));
        let open = u64::try_from(proc::open_descriptors().unwrap()).unwrap();
        match result {
            Ok(child) => {
                started = Some(child);
                break;
            }
            Err(error) => {
                assert_eq!(open, used + 2, "{error}");
                assert!(error.to_string().contains("Too many open files"), "{error}");
                assert!(!error.is_requests_fault());
                failures.push(error.failed);
            }
        }
    }
    assert!(failures.contains(&Failed::Terminal) && failures.contains(&Failed::Process), "{failures:?}");
    assert_eq!(finish(started.unwrap()).1, Exit::Code(0));
    answer("ok");
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_raised() {
    let raised = proc::raise_descriptor_limit();
    assert_eq!(raised, rustix::process::getrlimit(Resource::Nofile).maximum);
    proc::raise_descriptor_limit();
    let now = rustix::process::getrlimit(Resource::Nofile).current;
    assert!(now.is_none_or(|now| now > 100));
    answer(&format!("server raised, child {}", run("ulimit -S -n").trim()));
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_inherited_signals() {
    let mut signals = Signals::install().unwrap();
    kill(std::process::id().cast_signed(), Signal::HUP);
    let child = start("grep -E '^Sig(Blk|Ign):' /proc/self/status; exit 9");
    let (output, exit) = finish(child);
    wait_readable(signals.as_fd());
    // What was ignored with nohup stays ignored, but children are waited for.
    assert_eq!(signals.drain(), Received { child: true, ..Received::default() });
    // 32 and 33 are the C library's own: its posix_spawn ignores them, and nobody can set them.
    let mask = |line: &str| u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap() & !(3 << 31);
    let masks: Vec<u64> = output.lines().map(mask).collect();
    answer(&format!("SigBlk {:x}, SigIgn {:x}, {exit:?}", masks[0], masks[1]));
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_init() {
    let child = start("trap '' HUP; (sleep 1000 &); exit 7");
    let exit = reap_one(child.pid);
    assert_eq!(spawn::reap(), None);
    spawn::kill_session(child.pid);
    let mut orphan = None;
    wait_for(|| {
        orphan = spawn::reap();
        orphan.is_some()
    });
    answer(&format!("pid {}, orphan {:?}, child {exit:?}", std::process::id(), orphan.unwrap().exit));
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_holder() {
    let _listener = open_one(&ListenAddr::Unix(std::env::var_os("HELD").unwrap().into()));
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
#[ignore = "run by the tests above, in a process of its own"]
fn helper_passed() {
    let listeners = match listen::open(&ListenAddr::Passed) {
        Ok(listeners) => listeners,
        Err(error) => return answer(&error.to_string()),
    };
    let [Listener::Tcp(tcp), Listener::Unix { path, lock: None, .. }] = &listeners[..] else { panic!() };
    let port = std::env::var("PORT").unwrap().parse().unwrap();
    assert_eq!(tcp.local_addr().unwrap().port(), port);
    for listener in &listeners {
        assert_is_ours(listener.as_fd());
    }
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let Stream::Tcp(stream) = listen::accept(&listeners[0]).unwrap().stream else { panic!() };
    (&stream).write_all(b"x").unwrap();
    client.read_exact(&mut [0]).unwrap();
    answer(&format!("tcp, {}, child {}", path.display(), descriptors_of_a_child().join(" ")));
}
