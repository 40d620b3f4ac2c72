//! What a user gets, proved from outside: the real binary on real sockets, with real shells and programs.
//!
//! Each module is a chapter, each test a sentence of the contract. The clients here share no code with the
//! server and check every frame they are sent (`harness/client.rs`), so every transcript proves the sequence
//! numbers as well. No test measures time; patience ends only where something hangs. `WHARF_LONG=1` lets the
//! slow client stand still for a minute, `WHARF_SEED=N` repeats a random run.
//!
//! # Faults that others had
//!
//! Rows of the list of faults that users of such servers reported, and the transcript that keeps each kind of
//! it out; or why it cannot happen here. What compares screens cell by cell with an emulator is proved by the
//! screen's own tests ("screen"), the command line by `tests/cli.rs`, shells by `tests/shell_integration.rs`.
//!
//! | row | here |
//! | --- | --- |
//! | B01 split characters | `streams::a_character_that_is_written_byte_by_byte_arrives_whole`, `streams::two_megabytes_of_box_drawing_hold_no_replacement_character_also_across_reconnects` |
//! | B02 held-back bytes | `streams::half_a_character_is_not_held_back_for_ever` |
//! | B03 any byte | `streams::random_bytes_leave_a_usable_terminal`, `protocol::input_may_hold_every_code_point_of_latin_1_and_composed_text_once` |
//! | B04 lost tail | `streams::the_last_line_is_always_there_however_quickly_the_program_ends` |
//! | B06 background jobs | `lives::a_background_job_does_not_hold_the_exit_back` |
//! | B07 slave kept open | `lives::five_hundred_terminals_leave_no_descriptor_and_no_zombie` |
//! | B08 inherited descriptors | `sideband::a_terminals_descriptors_are_its_own`: 0 to 5, or to 2 without the sideband |
//! | B09 leaked descriptors | `lives::failed_starts_and_immortal_grandchildren_leave_no_descriptor` |
//! | B10 zombies | `lives::two_hundred_exits_at_once_are_all_reaped`, `startup::as_process_1_it_reaps_orphans_too` |
//! | B11 SIGCHLD ignored | `startup::a_signal_that_the_parent_ignores_does_no_harm` |
//! | B12 SIGPIPE, idle signals | `websockets::a_socket_is_reset_two_hundred_times_during_output_and_the_server_lives`, `startup::an_idle_server_leaves_at_once_and_its_shells_hear_sighup` |
//! | B13 accept errors | `startup::out_of_descriptors_it_neither_spins_nor_forgets`, `startup::ten_thousand_connections_that_reset_at_once_do_no_harm` |
//! | B14 close with grace | `lives::a_closed_terminal_gets_sighup_and_time_and_then_sigkill` |
//! | B16 exit status | `streams::exit_codes_and_signals_are_told_apart_live_and_late` |
//! | B17 controlling terminal | `sizes::the_terminal_is_the_controlling_terminal_of_its_own_session` |
//! | B18 first size | `sizes::a_resize_reaches_the_program_at_once_and_before_it_prints` |
//! | B19 input before output | `protocol::input_is_taken_before_the_program_has_printed_anything` |
//! | B21 spinning on the end | `lives::a_background_job_does_not_hold_the_exit_back`, `lives::clients_that_are_half_gone_make_no_work`, `http::a_half_closed_connection_still_gets_its_answers` |
//! | B22 nobody attached | `streams::a_program_with_no_client_runs_on` |
//! | B23 pastes | `input::a_ten_mebibyte_paste_arrives_whole`, `input::a_paste_may_be_one_frame_of_eight_mebibytes`, `input::a_program_that_reads_slowly_gets_all_of_it` |
//! | B25 nobody reads the input | `input::a_program_that_reads_nothing_holds_its_senders_back_and_nobody_else`: held back, not refused; a request is refused (`input::posted_input_that_cannot_be_taken_is_refused_with_a_reason`) |
//! | B27 exactly once | `input::a_thousand_cuts_while_lines_are_typed_lose_nothing_and_double_nothing` |
//! | B28 numbers again, ids without end | `protocol::a_client_that_starts_its_numbers_again_is_answered_but_not_obeyed`, `protocol::a_hundred_thousand_client_ids_cost_no_memory` |
//! | B29 composed text | `protocol::input_may_hold_every_code_point_of_latin_1_and_composed_text_once` |
//! | B31 keys in pieces | the same: input is not parsed |
//! | B32 odd JSON strings | `protocol::nul_emoji_and_lone_surrogates_in_json_do_no_harm` |
//! | B34 replayed queries | `queries::no_query_is_ever_part_of_a_reset_or_of_the_screen`, `queries::history_can_be_told_from_news_by_the_head_in_ready` |
//! | B35 one reply | `queries::of_several_clients_only_the_one_whose_size_the_pty_has_gets_its_reply_through` |
//! | B36 nobody to answer | `queries::while_nobody_is_attached_the_server_answers_each_query_once`, `queries::while_a_client_is_attached_only_it_answers`, `queries::a_prompt_appears_without_any_client` |
//! | B37 right answers | the same; what is answered is what the model keeps |
//! | B39 cut sequences | `streams::output_that_the_ring_still_has_is_replayed_exactly_and_older_gets_one_reset`: a client goes on from its own last byte, and one without history never gets a cut tail |
//! | B41, B44–B47, B49, B51–B54, B59, B70 state in resets | screen |
//! | B42, B43 alternate screen | `screens::the_alternate_screen_hides_the_primary_one_and_scrolls_into_nothing` |
//! | B48 resets inside sequences | `screens::a_reset_inside_a_sequence_is_continued_by_what_follows`, `screens::a_client_that_vanished_inside_of_a_control_string_is_freed_by_its_reset` |
//! | B56 prompt marks | a reset holds no marks: nothing makes an emulator clear rows that no shell draws again |
//! | B60 history on attach | `protocol::an_absent_cursor_is_zero_and_one_that_is_no_number_is_refused`, `protocol::a_cursor_gets_exactly_what_comes_after_it` |
//! | B61 large resets | `screens::building_a_large_reset_delays_nobody` |
//! | B63 wide characters | `screens::wide_characters_and_random_sizes_do_no_harm` |
//! | B65 fuzzed input | screen, and `streams::random_bytes_leave_a_usable_terminal` |
//! | B67 sequences without end | `streams::sequences_without_end_cost_no_memory_and_leave_a_usable_terminal` |
//! | B68 long sequences | `streams::long_sequences_pass_unchanged` |
//! | B71 clear | `screens::clear_at_the_prompt_clears_for_everyone_and_the_text_never_comes_back`, `screens::clear_while_a_program_runs_clears_only_the_scrollback`, `screens::a_clear_waits_for_the_end_of_a_sequence_that_is_under_way`, `screens::sequences_that_clear_do_what_they_say` |
//! | B72 memory of cells | `screens::a_full_scrollback_of_colours_and_links_has_its_price_and_after_a_clear_the_next_costs_nothing_more` |
//! | B73 fights over the size | `sizes::naive_clients_that_send_their_size_on_every_size_frame_do_not_fight` |
//! | B74 what is use | `sizes::replies_do_not_count_as_use_and_kitty_keys_do`, `terminals::a_posted_input_does_not_take_the_size` |
//! | B76 bursts of sizes | `sizes::a_burst_of_resizes_ends_at_the_last_and_the_program_hears_a_few`, `sizes::a_size_that_does_not_change_is_not_told` |
//! | B78 races, ids | `terminals::a_hundred_creates_of_one_session_at_once_start_one_shell`, `terminals::ids_are_not_used_again_after_a_restart` |
//! | B80 pixels | a frame carries none: the PTY says 0, as for every terminal that does not know |
//! | B81 absurd sizes | `sizes::sizes_out_of_range_are_refused_with_an_error_and_change_nothing` |
//! | B82, B84 slow clients | `slow` |
//! | B86, B87 silence | `lives::a_peer_that_is_silent_is_asked_and_then_dropped_and_one_that_answers_lives` |
//! | B88 close codes | `websockets::when_a_terminal_is_closed_its_sockets_are_closed_with_1000`, `websockets::when_the_server_leaves_it_says_1001`; the page's back-off: `tests/browser` |
//! | B89 small pieces | `lives::each_accepted_connection_sends_small_pieces_at_once` |
//! | B91 large messages | `websockets::what_breaks_the_protocol_is_answered_with_its_close_code`, `websockets::a_message_that_grows_by_fragments_is_bounded`, `websockets::compression_is_not_offered` |
//! | B92 endless heads | `http::an_endless_head_is_bounded_in_time_and_memory`, `http::a_head_that_is_too_large_is_431` |
//! | B95, B96 cookies | `trust::the_page_turns_the_token_of_its_url_into_a_cookie`; there is no TLS here, so no `Secure` |
//! | B97 one way to trust | `trust::with_a_token_every_route_but_health_needs_it`, `trust::a_token_is_taken_in_each_of_its_forms_and_in_no_other` |
//! | B98 base path | `http::the_base_path_is_part_of_every_path`, `http::paths_are_taken_as_they_are` |
//! | B99, B106 sockets, second servers | `startup::a_second_server_neither_starts_nor_disturbs_the_first`, `startup::after_a_kill_its_socket_is_reclaimed`, `startup::a_socket_path_that_is_too_long_is_one_line` |
//! | B101 endless lines | no protocol of lines: the Unix socket speaks HTTP, with its bounds |
//! | B102 unknown frames | `protocol::a_frame_that_is_none_gets_one_error_and_the_connection_lives` |
//! | B103 orphans | `terminals::more_terminals_than_allowed_are_429_until_one_is_closed`; a terminal nobody has attached is kept on purpose, the list shows its age |
//! | B107 environment | `lives::the_shell_has_the_environment_that_a_terminal_promises`, `lives::the_default_shell_is_the_flag_then_the_environment_then_the_passwd_entry` |
//! | B108 other pages | `trust::pages_from_elsewhere_open_no_socket_and_change_nothing` |
//! | B109 rebinding | `trust::only_names_of_this_server_may_stand_in_host` |
//! | B110 simple requests | `trust::what_a_form_or_a_beacon_could_send_is_no_json` |
//! | B111 a route without trust | `trust::with_a_token_every_route_but_health_needs_it`, `trust::another_user_of_the_machine_is_kept_out_without_a_token` |
//! | B112, B119 secrets | `trust::secrets_reach_neither_shells_nor_command_lines_nor_the_log_nor_metrics`, `trust::the_page_turns_the_token_of_its_url_into_a_cookie` |
//! | B114 guessing | `trust::an_address_that_fails_ten_times_waits`, `trust::a_token_is_taken_in_each_of_its_forms_and_in_no_other` |
//! | B115, B123 headers | `trust::every_answer_tells_browsers_what_they_may_not_do` |
//! | B118 titles | `panes::hostile_titles_are_recorded_clean_and_short`, `screens::a_title_as_the_program_wrote_it_is_bounded_and_cannot_break_out` |
//! | B120 viewers | there is no read-only credential |
//! | B122 modes of files | `trust::the_socket_file_is_for_its_user_alone` |
//! | B133 images | live and replayed byte for byte (`streams::long_sequences_pass_unchanged`); a reset leaves them out whole |
#![allow(
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

mod agents;
mod files;
mod harness;
mod ht;
mod http;
mod input;
mod lives;
mod metadata;
mod mirror;
mod mirror_around;
mod mirror_frames;
mod mirror_resume;
mod panes;
mod programs;
mod protocol;
mod queries;
mod screens;
mod shells;
mod sideband;
mod sizes;
mod slow;
mod startup;
mod streams;
mod terminals;
mod trust;
mod websockets;
