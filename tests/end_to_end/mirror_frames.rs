//! Every field of the mirror's frames: the right ones are told as they were given, the wrong ones are named.

use data_encoding::BASE64;

use crate::harness::*;
use crate::mirror::Mirror;

#[test]
fn each_field_of_a_client_frame_has_its_type_and_its_bounds() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("exec cat"));
    let id = terminal.id.as_str();
    server.tell(
        "PUT",
        &format!("/v1/surfaces/{id}/panels/p"),
        &json!({ "type": "html", "data": "", "interactive": true }),
    );
    let mut mirror = Mirror::open(&server);
    let long = "x".repeat(10 << 10);
    let strings = || vec![json!(null), json!(7), json!([]), json!({}), json!(true), json!(long), json!("")];
    let numbers = || vec![json!(null), json!("80"), json!([]), json!({}), json!(false)];
    for (frame, fields) in [
        (
            json!({ "type": "surfaceStdin", "surfaceId": id, "bytes": "" }),
            vec![
                ("surfaceId", strings()),
                (
                    "bytes",
                    vec![json!(null), json!(7), json!("?"), json!("YQ"), json!("YQ==YQ=="), json!("Y Q=")],
                ),
                ("claim", vec![json!(0), json!("no")]),
            ],
        ),
        (
            json!({ "type": "surfaceResizeRequest", "surfaceId": id, "cols": 80, "rows": 24 }),
            vec![("surfaceId", strings()), ("cols", numbers()), ("rows", numbers())],
        ),
        (json!({ "type": "surfaceFocus", "surfaceId": id }), vec![("surfaceId", strings())]),
        (
            json!({ "type": "panelInteract", "surfaceId": id, "id": "p", "event": { "type": "click" } }),
            vec![
                ("surfaceId", strings()),
                ("id", strings()),
                (
                    "event",
                    vec![
                        json!(null),
                        json!("click"),
                        json!({}),
                        json!({ "type": 7 }),
                        json!({ "type": "dragend", "x": 1 }),
                        json!({ "type": "click", "x": 1e300 }),
                        json!({ "type": "resize", "width": -1, "height": 1 }),
                    ],
                ),
            ],
        ),
        (
            json!({ "type": "selectWorkspaceCwd", "workspaceId": "default", "cwd": null }),
            vec![
                ("workspaceId", strings()),
                ("cwd", vec![json!(7), json!("relative"), json!("/\u{0}"), json!(format!("/{long}"))]),
            ],
        ),
        (json!({ "type": "ping", "nonce": 1 }), vec![("nonce", vec![json!(null), json!([]), json!(long)])]),
        (
            json!({ "type": "cancel", "id": format!("metadata:{id}") }),
            vec![("id", vec![json!(null), json!(7), json!(long)])],
        ),
    ] {
        for (field, wrong) in fields {
            for value in wrong {
                let mut frame = frame.clone();
                frame[field] = value;
                mirror.send(frame.clone());
                let error = mirror.until("error");
                assert_eq!(error["code"], "bad-field", "{frame}: {error}");
                let message = error["message"].as_str().unwrap();
                let named = field == "event" || message.contains(field);
                assert!(named && message.len() < 300, "{frame}: {error}");
            }
            if field != "claim" {
                let mut frame = frame.clone();
                frame.as_object_mut().unwrap().remove(field);
                mirror.send(frame.clone());
                assert_eq!(mirror.until("error")["code"], "bad-field", "without {field}: {frame}");
            }
        }
        // As it is meant, it has its effect, and no error.
        let errors = mirror.frames.iter().filter(|frame| frame["type"] == "error").count();
        mirror.send(frame);
        mirror.settle();
        assert_eq!(mirror.frames.iter().filter(|frame| frame["type"] == "error").count(), errors);
    }
    mirror.type_in(&terminal, "still here\n");
    mirror.expect(&terminal, "still here");
}

#[test]
fn absurd_sizes_are_clamped_and_what_is_no_number_is_refused() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("exec cat"));
    let mut mirror = Mirror::open(&server);
    for (cols, rows, size) in [
        ("1e308", "-1e308", Some((500, 4))),
        ("99999999999999999999999", "0.5", Some((500, 4))),
        ("-0", "9.9", Some((10, 9))),
        ("1e999", "24", None),
        ("Infinity", "24", None),
        ("NaN", "24", None),
        ("0x50", "24", None),
        ("100", "30", Some((100, 30))),
    ] {
        let frame = format!(
            r#"{{"type":"surfaceResizeRequest","surfaceId":"{}","cols":{cols},"rows":{rows}}}"#,
            terminal.id
        );
        assert!(mirror.socket.send_text(&frame));
        match size {
            Some((cols, rows)) => {
                mirror.settle();
                let described = || server.describe(&terminal);
                eventually("the size", || described()["cols"] == cols && described()["rows"] == rows);
            }
            None => assert_eq!(mirror.until("error")["code"], "malformed", "{frame}"),
        }
    }
}

#[test]
fn a_panel_is_told_with_every_field_that_it_has() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("exec cat"));
    let path = format!("/v1/surfaces/{}/panels/p", terminal.id);
    let mut mirror = Mirror::open(&server);
    let mut told_is = |method: &str, body: &Value, kind: &str, told: &Value| {
        let answer = server.tell(method, &path, body);
        assert_eq!(answer.status, 204, "{}", answer.text());
        let frame = mirror.until(kind);
        assert_eq!((&frame["surfaceId"], &frame["id"]), (&json!(terminal.id), &json!("p")));
        assert_eq!(frame["panel"], *told);
    };
    let whole = json!({
        "type": "image", "data": BASE64.encode(b"\x89PNG\x00\xff"), "format": "png", "x": -10.5, "y": 20.0,
        "width": 640.0, "height": "auto", "position": "overlay", "interactive": true, "draggable": true,
        "resizable": false, "zIndex": -3, "opacity": 0.25,
    });
    told_is("PUT", &whole, "panelCreate", &whole);
    let patch = json!({
        "data": BASE64.encode(b"other"), "format": "jpeg", "x": 1.0, "y": 2.0, "width": "auto", "height": 5.0,
        "position": "fixed", "interactive": false, "draggable": false, "resizable": true, "zIndex": 9, "opacity": 1.0,
    });
    told_is("PATCH", &patch, "panelUpdate", &patch);
    let bare = json!({ "type": "canvas2d", "data": "AAEC" });
    let filled = json!({
        "type": "canvas2d", "data": "AAEC", "x": 100.0, "y": 100.0, "width": "auto", "height": "auto",
        "position": "float", "interactive": false, "draggable": true, "resizable": true,
    });
    told_is("PUT", &bare, "panelCreate", &filled);
    assert_eq!(
        server.get(&format!("/v1/surfaces/{}/panels", terminal.id)).json()["panels"][0]["panel"],
        filled
    );
    assert_eq!(server.delete(&path).status, 204);
    assert_eq!(mirror.until("panelClear")["id"], "p");
    for (field, wrong) in [
        ("type", json!("movie")),
        ("data", json!(7)),
        ("data", json!("no base64")),
        ("x", json!("1")),
        ("y", json!(1e300)),
        ("width", json!(-1)),
        ("height", json!("high")),
        ("position", json!("above")),
        ("interactive", json!(1)),
        ("draggable", json!("yes")),
        ("resizable", json!([])),
        ("zIndex", json!(1.5)),
        ("opacity", json!(2)),
        ("format", json!("f".repeat(10_000))),
    ] {
        let mut body = whole.clone();
        body[field] = wrong;
        let answer = server.tell("PUT", &path, &body);
        assert_eq!(answer.status, 400, "{field}: {}", answer.text());
        assert!(answer.error().contains(field), "{field}: {}", answer.text());
    }
}

#[test]
fn a_panel_may_hold_what_its_bound_says_and_no_more() {
    let server = Server::start(&[]);
    let terminal = server.make(80, 24, sh("exec cat"));
    let path = format!("/v1/surfaces/{}/panels/p", terminal.id);
    let mut mirror = Mirror::open(&server);
    let picture = |bytes: usize| json!({ "type": "image", "data": BASE64.encode(&vec![7; bytes]) });
    assert_eq!(server.tell("PUT", &path, &picture(4 << 20)).status, 204);
    let told = mirror.until("panelCreate");
    assert_eq!(told["panel"]["data"].as_str().unwrap().len(), (4_usize << 20).div_ceil(3) * 4);
    for answer in [
        server.tell("PUT", &path, &picture((4 << 20) + 1)),
        server.tell("PATCH", &path, &picture((4 << 20) + 1)),
        server.tell("PUT", &path, &json!({ "type": "svg", "data": "x".repeat(5 << 20) })),
    ] {
        assert_eq!(answer.status, 413, "{}", answer.text());
        assert_eq!(answer.error(), "data must be at most 4194304 bytes");
    }
    // Beyond what any panel is, and everywhere else, the body itself is bounded.
    let body = "x".repeat(9 << 20);
    let large = server.ask("PUT", &path, &[("Content-Type", "application/json")], Some(&body));
    assert_eq!(large.status, 413, "{}", large.text());
    let card = "/v1/workspaces/default/log";
    assert_eq!(server.post(card, &json!({ "message": "x".repeat(2 << 20) })).status, 413);
    mirror.settle();
}
