//! What surrounds terminals: its bounds, what it keeps over a kill at any moment, and when agents are told to go on.

use data_encoding::BASE64;

use crate::harness::*;
use crate::mirror::{Mirror, open};

#[test]
fn what_surrounds_a_terminal_is_bounded() {
    let server = Server::start(&[]);
    let terminal = server.make_in("s", 80, 24, sh("exec cat"));
    for n in 0..201 {
        let line = json!({ "message": n.to_string() });
        assert_eq!(server.post("/v1/workspaces/s/log", &line).status, 204);
    }
    let panel = json!({ "type": "svg", "data": "" });
    for n in 0..256 {
        assert_eq!(server.tell("PUT", &format!("/v1/surfaces/s/panels/{n}"), &panel).status, 204);
    }
    let more = server.tell("PUT", "/v1/surfaces/s/panels/more", &panel);
    assert_eq!((more.status, more.error().as_str()), (429, "the surface has too many panels; clear some"));
    assert_eq!(server.tell("PUT", "/v1/surfaces/s/panels/7", &panel).status, 204, "one of those it has");
    for n in 0..64 {
        let path = format!("/v1/workspaces/s/status/{n}");
        assert_eq!(server.tell("PUT", &path, &json!({ "text": "" })).status, 204);
    }
    let more = server.tell("PUT", "/v1/workspaces/s/status/more", &json!({ "text": "" }));
    assert_eq!((more.status, more.error().contains("too many status keys")), (429, true));
    server.tell("PATCH", "/v1/settings", &json!({ "autoContinueEngine": "heuristic" }));
    for n in 0..60 {
        let action = if n % 2 == 0 { "pause" } else { "resume" };
        let reason = json!({ "action": action, "surfaceId": "s", "reason": n.to_string() });
        assert_eq!(server.post("/v1/autocontinue", &reason).status, 200);
    }
    let snapshot = Mirror::open(&server).hello["snapshot"].clone();
    let log = snapshot["sidebar"]["default"]["log"].as_array().unwrap();
    assert_eq!((log.len(), &log[0]["message"], &log[199]["message"]), (200, &json!("1"), &json!("200")));
    assert_eq!(snapshot["panels"].as_array().unwrap().len(), 256);
    let audit = snapshot["autoContinueAudit"].as_array().unwrap();
    assert_eq!((audit.len(), &audit[0]["reason"], &audit[49]["reason"]), (50, &json!("10"), &json!("59")));
    let steps: Vec<Value> = (0..201).map(|n| json!({ "id": n.to_string(), "title": "" })).collect();
    let key = "k".repeat(10 << 10);
    for (answer, field) in [
        (server.tell("PUT", "/v1/plans/s", &json!({ "steps": steps })), "steps"),
        (server.post("/v1/notifications", &json!({ "title": key })), "title"),
        (server.post("/v1/notifications", &json!({ "title": "t", "body": "b".repeat(70_000) })), "body"),
        (server.post("/v1/workspaces/s/log", &json!({ "message": "m".repeat(70_000) })), "message"),
        (server.tell("PUT", "/v1/workspaces/s/status/a", &json!({ "text": key })), "text"),
        (server.tell("PUT", &format!("/v1/workspaces/s/status/{key}"), &json!({ "text": "" })), "key"),
        (server.tell("PUT", &format!("/v1/surfaces/s/panels/{key}"), &panel), "id"),
    ] {
        assert_eq!(answer.status, 400, "{field}: {}", answer.text());
        assert!(answer.error().contains(field), "{field}: {}", answer.text());
    }
    let deep = format!(r#"{{"text":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    for body in [deep.as_str(), r#"{"text":NaN}"#, "[1]", ""] {
        let json = [("Content-Type", "application/json")];
        assert_eq!(server.ask("PUT", "/v1/workspaces/s/status/a", &json, Some(body)).status, 400);
    }
    let mut mirror = Mirror::open(&server);
    mirror.type_in(&terminal, "still here\n");
    mirror.expect(&terminal, "still here");
}

#[test]
fn killed_at_any_moment_it_comes_back_with_what_was_on_the_disk_or_something_newer() {
    let dir = server::Dir::new();
    let mut dice = Dice::new();
    let file = dir.file("state/state.json");
    let number =
        |workspace: &Value| workspace["name"].as_str().map_or(0, |name| name.parse::<u64>().unwrap());
    let on_disk = || {
        let state: Value =
            std::fs::read(&file).map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
        state["workspaces"].as_array().into_iter().flatten().find(|one| one["id"] == "w").map_or(0, number)
    };
    let (mut last, mut said) = (0, 0);
    for round in 0..12 {
        let mut server = Launch::default().in_dir(dir.path()).start();
        assert!(!server.log().contains("damaged"), "{}", server.log());
        let found = number(&server.get("/v1/workspaces/w").json());
        assert!((last..=said).contains(&found), "{found} is none of {last} to {said}");
        if round > 0 {
            assert_eq!(Mirror::open(&server).hello["settings"]["theme"], "paper");
        }
        server.tell("PATCH", "/v1/settings", &json!({ "theme": "paper" }));
        let mut change = || {
            said += 1;
            server.tell("PUT", "/v1/workspaces/w", &json!({ "name": said.to_string() }));
        };
        eventually("it is saved", || {
            change();
            on_disk() > found
        });
        (0..dice.below(400)).for_each(|_| change());
        last = on_disk();
        server.signal("KILL");
        server.wait();
    }
}

#[test]
fn an_agent_is_told_to_go_on_so_often_and_no_more_until_a_person_types() {
    let server = Server::start(&[]);
    let terminal =
        server.make_in("s", 80, 24, sh("stty -echo; while read line; do echo \"heard $line\"; done"));
    let mut mirror = Mirror::open(&server);
    let set = |settings: Value| assert_eq!(server.tell("PATCH", "/v1/settings", &settings).status, 200);
    set(
        json!({ "autoContinueEngine": "heuristic", "autoContinueDryRun": false, "autoContinueCooldownMs": 0, "autoContinueMaxConsecutive": 2 }),
    );
    let step = json!({ "agentId": "a", "steps": [{ "id": "M1", "title": "t", "state": "active" }] });
    server.tell("PUT", "/v1/plans/s", &step);
    let decided = || {
        let title = json!({ "title": "turn ended", "surfaceId": "s" });
        assert_eq!(server.post("/v1/notifications", &title).status, 201);
        let audit = server.get("/v1/autocontinue").json()["audit"].clone();
        let entry = audit.as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (&entry["surfaceId"], &entry["engine"], &entry["agentId"]),
            (&json!(terminal.id), &json!("heuristic"), &json!("a"))
        );
        assert!(entry["at"].as_str().unwrap().ends_with('Z'), "{entry}");
        (entry["outcome"].as_str().unwrap().to_owned(), entry["reason"].as_str().unwrap().to_owned())
    };
    let fired = || ("fired".to_owned(), "step M1 is active".to_owned());
    let enough = || ("skipped".to_owned(), "2 times in a row without a person".to_owned());
    assert_eq!([decided(), decided(), decided()], [fired(), fired(), enough()]);
    // Neither a script nor the emulator's own reply is a person.
    server.post(&format!("/v1/terminals/{}/input", terminal.id), &json!({ "data": "script\n" }));
    mirror.resize(&terminal, 80, 24);
    let reply = BASE64.encode(b"reply\n");
    mirror.send(json!({ "type": "surfaceStdin", "surfaceId": terminal.id, "bytes": reply, "claim": false }));
    mirror.expect(&terminal, "heard reply");
    assert_eq!(decided(), enough());
    mirror.type_in(&terminal, "person\n");
    mirror.expect(&terminal, "heard person");
    assert_eq!([decided(), decided(), decided()], [fired(), fired(), enough()]);
    let mut client = server.attach(&terminal, 2);
    let typed = client.input("person\n");
    client.expect_ack(typed);
    assert_eq!(decided(), fired());
    set(json!({ "autoContinueCooldownMs": 86_400_000 }));
    let (outcome, reason) = decided();
    assert!(outcome == "skipped" && reason.starts_with("cooling down for another "), "{outcome}: {reason}");
    let typed = || server.screen(&terminal).matches("heard Continue M1").count();
    eventually("all of it has been typed", || typed() == 5);
    // In one that has ended there is nobody to be told.
    set(json!({ "autoContinueCooldownMs": 0 }));
    let done = server.make_in("done", 80, 24, sh("exit 0"));
    eventually("it has ended", || server.describe(&done)["exited"] == true);
    let fire = server.post("/v1/autocontinue", &json!({ "action": "fire", "surfaceId": "done" }));
    assert_eq!((fire.status, fire.error().as_str()), (409, "nothing runs in the terminal any more"));
}

#[test]
fn a_session_of_another_server_is_greeted() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let first = Mirror::open(&one);
    let second = Mirror::greeted(open(&other, &format!("resume={}&seq=0", first.session)));
    assert_ne!(first.session, second.session);
}
