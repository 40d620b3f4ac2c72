//! Whether an agent that has stopped is told to go on. Rules only, over what everybody can see: its plan,
//! its notification, its screen. What it would type is written down in each case; it types nothing unless
//! somebody has switched the engine on and the dry run off.

use std::collections::{BTreeMap, VecDeque};

use super::plans::{Plan, StepState};
use super::settings::{AutoContinueOptions, Engine};
use crate::limits::AUDIT_ENTRIES_MAX;

/// Non-blank lines of the screen that are searched for a question.
const QUESTION_LINES: usize = 5;
/// Lines of the screen that are searched for an error.
const ERROR_LINES: usize = 20;
/// What a failure looks like, in lower case.
const FAILURES: [&str; 10] = [
    "error:",
    "errored",
    "failed",
    "failure",
    "fatal",
    "denied",
    "exception",
    "traceback",
    "panicked",
    "panic:",
];

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Outcome {
    /// The text was typed.
    Fired,
    /// It would have been.
    DryRun,
    /// The agent waits for a person.
    Skipped,
    Paused,
    Resumed,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Unix time in milliseconds.
    pub at_ms: u64,
    /// The terminal.
    pub surface_id: String,
    /// Whose plan it was.
    pub agent_id: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, in one line for people.
    pub reason: String,
    /// Who decided.
    pub engine: Engine,
}

/// What a decision is about.
#[derive(Clone, Copy, Debug)]
pub struct Trigger<'a> {
    /// The terminal that the notification is for.
    pub surface_id: &'a str,
    /// Title and body of the notification; may be empty.
    pub notification: &'a str,
    /// The plan of its workspace.
    pub plan: Option<&'a Plan>,
    /// The last lines of its screen, as plain text.
    pub screen_tail: &'a str,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The engine is off: nothing is typed, and nothing was written down.
    Off,
    /// Nothing is typed. The audit has a new entry.
    Wait,
    /// Type this into the terminal, the Enter key included. The audit has a new entry.
    Type(String),
}

#[derive(Clone, Debug, Default)]
struct Surface {
    /// Unix time in milliseconds.
    fired_at_ms: Option<u64>,
    /// Times in a row without a person.
    consecutive: u32,
    paused: bool,
}

/// What is known about every terminal, and the last [`AUDIT_ENTRIES_MAX`] decisions.
#[derive(Clone, Debug, Default)]
pub struct AutoContinue {
    surfaces: BTreeMap<String, Surface>,
    audit: VecDeque<AuditEntry>,
}

impl AutoContinue {
    /// Decisions, oldest first. After each change below, all of them are told (`autoContinueAudit`).
    pub fn audit(&self) -> impl ExactSizeIterator<Item = &AuditEntry> {
        self.audit.iter()
    }

    /// The terminals that are paused.
    pub fn paused(&self) -> impl Iterator<Item = &str> {
        self.surfaces.iter().filter(|(_, surface)| surface.paused).map(|(id, _)| id.as_str())
    }

    /// A notification came for a terminal. One entry is added to the audit, unless the engine is off. A dry
    /// run counts as the real one would, so that it shows what would happen.
    pub fn decide(
        &mut self,
        trigger: Trigger<'_>,
        options: &AutoContinueOptions,
        now_unix_ms: u64,
    ) -> Decision {
        match options.engine {
            Engine::Off => return Decision::Off,
            Engine::Heuristic => {}
        }
        let surface = self.surfaces.entry(trigger.surface_id.to_owned()).or_default();
        // A clock that was set back does not make the wait longer.
        let since = surface.fired_at_ms.and_then(|at| now_unix_ms.checked_sub(at));
        let judged = match weigh(&trigger) {
            _ if surface.paused => Err("paused".to_owned()),
            Err(reason) => Err(reason),
            Ok(_) if since.is_some_and(|since| since < options.cooldown_ms) => {
                let left = options.cooldown_ms - since.unwrap_or(0);
                Err(format!("cooling down for another {left} ms"))
            }
            Ok(_) if surface.consecutive >= options.consecutive_max => {
                Err(format!("{} times in a row without a person", surface.consecutive))
            }
            Ok(go) => Ok(go),
        };
        let (outcome, reason, decision) = match judged {
            Err(reason) => (Outcome::Skipped, reason, Decision::Wait),
            Ok(Go { text, reason }) => {
                surface.fired_at_ms = Some(now_unix_ms);
                surface.consecutive += 1;
                match options.dry_run {
                    true => (Outcome::DryRun, reason, Decision::Wait),
                    false => (Outcome::Fired, reason, Decision::Type(format!("{text}\r"))),
                }
            }
        };
        let agent_id = trigger.plan.and_then(|plan| plan.agent_id.clone());
        self.note(trigger.surface_id, agent_id, outcome, reason, options.engine, now_unix_ms);
        decision
    }

    /// No decisions for this terminal until [`AutoContinue::resume`]. Whether that is new.
    pub fn pause(&mut self, surface_id: &str, reason: &str, engine: Engine, now_unix_ms: u64) -> bool {
        let surface = self.surfaces.entry(surface_id.to_owned()).or_default();
        let new = !std::mem::replace(&mut surface.paused, true);
        if new {
            self.note(surface_id, None, Outcome::Paused, reason.to_owned(), engine, now_unix_ms);
        }
        new
    }

    /// Decisions again, counted from zero. Whether that is new.
    pub fn resume(&mut self, surface_id: &str, reason: &str, engine: Engine, now_unix_ms: u64) -> bool {
        let Some(surface) = self.surfaces.get_mut(surface_id) else { return false };
        surface.consecutive = 0;
        let new = std::mem::replace(&mut surface.paused, false);
        if new {
            self.note(surface_id, None, Outcome::Resumed, reason.to_owned(), engine, now_unix_ms);
        }
        new
    }

    /// A person typed into the terminal: the count starts again.
    pub fn human_typed(&mut self, surface_id: &str) {
        if let Some(surface) = self.surfaces.get_mut(surface_id) {
            surface.consecutive = 0;
        }
    }

    /// The terminal is gone. What was decided stays written down.
    pub fn forget(&mut self, surface_id: &str) {
        self.surfaces.remove(surface_id);
    }

    fn note(
        &mut self,
        surface_id: &str,
        agent_id: Option<String>,
        outcome: Outcome,
        reason: String,
        engine: Engine,
        at_ms: u64,
    ) {
        if self.audit.len() == AUDIT_ENTRIES_MAX {
            self.audit.pop_front();
        }
        let surface_id = surface_id.to_owned();
        self.audit.push_back(AuditEntry { at_ms, surface_id, agent_id, outcome, reason, engine });
    }
}

struct Go {
    text: String,
    reason: String,
}

/// What the rules say, before cooldown and count; the error is the reason to wait.
fn weigh(trigger: &Trigger<'_>) -> Result<Go, String> {
    if fails(trigger.notification) {
        return Err(format!("the notification tells of a failure: {}", quote(trigger.notification)));
    }
    let lines = trigger.screen_tail.lines().rev().filter(|line| !line.trim().is_empty());
    if let Some(line) = lines.clone().take(ERROR_LINES).find(|line| fails(line)) {
        return Err(format!("the screen shows a failure: {}", quote(line)));
    }
    if let Some(line) = lines.take(QUESTION_LINES).find(|line| line.trim_end().ends_with('?')) {
        return Err(format!("the agent asks: {}", quote(line)));
    }
    let Some(plan) = trigger.plan.filter(|plan| !plan.steps.is_empty()) else {
        return Err("there is no plan to go on with".to_owned());
    };
    let step = |state| plan.steps.iter().find(|step| step.state == state);
    if let Some(failed) = step(StepState::Err) {
        return Err(format!("step {} of the plan has failed", quote(&failed.id)));
    }
    let (step, state) = match (step(StepState::Active), step(StepState::Waiting)) {
        (Some(step), _) => (step, "active"),
        (None, Some(step)) => (step, "waiting"),
        (None, None) => return Err("every step of the plan is done".to_owned()),
    };
    // The id is typed: it must not hold a key of its own.
    let id: String = step.id.chars().filter(|c| !c.is_control()).collect();
    Ok(Go { text: format!("Continue {id}"), reason: format!("step {} is {state}", quote(&id)) })
}

fn fails(text: &str) -> bool {
    let text = text.to_lowercase();
    FAILURES.iter().any(|failure| text.contains(failure))
}

/// A fragment that fits into a line.
fn quote(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::plans::PlanStep;
    use crate::workspace::settings::Settings;

    const LIVE: AutoContinueOptions = AutoContinueOptions {
        engine: Engine::Heuristic,
        dry_run: false,
        cooldown_ms: 3000,
        consecutive_max: 3,
    };

    fn plan(steps: &[(&str, StepState)]) -> Plan {
        let step = |(id, state): &(&str, StepState)| PlanStep {
            id: (*id).to_owned(),
            title: String::new(),
            state: *state,
        };
        Plan { agent_id: Some("a:1".into()), steps: steps.iter().map(step).collect(), updated_at_ms: 0 }
    }

    fn under_way() -> Plan {
        plan(&[("M1", StepState::Done), ("M2", StepState::Waiting)])
    }

    fn decide(auto: &mut AutoContinue, options: &AutoContinueOptions, plan: &Plan, now: u64) -> Decision {
        let trigger =
            Trigger { surface_id: "s", notification: "turn ended", plan: Some(plan), screen_tail: "$ " };
        auto.decide(trigger, options, now)
    }

    fn last(auto: &AutoContinue) -> (Outcome, &str) {
        let entry = auto.audit().last().unwrap();
        (entry.outcome, entry.reason.as_str())
    }

    /// The reason why an agent with this notification, screen and plan waits.
    fn waits(notification: &str, screen_tail: &str, plan: Option<&Plan>) -> String {
        let mut auto = AutoContinue::default();
        let trigger = Trigger { surface_id: "s", notification, plan, screen_tail };
        assert_eq!(auto.decide(trigger, &LIVE, 1), Decision::Wait);
        assert_eq!(last(&auto).0, Outcome::Skipped);
        last(&auto).1.to_owned()
    }

    #[test]
    fn it_is_off_in_a_new_installation_and_dry_once_it_is_on() {
        let mut auto = AutoContinue::default();
        let options = Settings::default().auto_continue;
        assert_eq!(decide(&mut auto, &options, &under_way(), 1), Decision::Off);
        assert_eq!(auto.audit().len(), 0);
        let on = AutoContinueOptions { engine: Engine::Heuristic, ..options };
        assert_eq!(decide(&mut auto, &on, &under_way(), 2), Decision::Wait);
        assert_eq!(last(&auto), (Outcome::DryRun, "step M2 is waiting"));
    }

    #[test]
    fn the_agent_is_told_to_go_on_with_the_active_or_the_next_step() {
        let mut auto = AutoContinue::default();
        assert_eq!(decide(&mut auto, &LIVE, &under_way(), 1), Decision::Type("Continue M2\r".into()));
        let entry = auto.audit().last().unwrap();
        assert_eq!((entry.at_ms, entry.surface_id.as_str(), entry.engine), (1, "s", Engine::Heuristic));
        assert_eq!((entry.outcome, entry.agent_id.as_deref()), (Outcome::Fired, Some("a:1")));
        let active = plan(&[("M1", StepState::Waiting), ("M2", StepState::Active)]);
        assert_eq!(decide(&mut auto, &LIVE, &active, 5000), Decision::Type("Continue M2\r".into()));
    }

    #[test]
    fn the_id_of_a_step_cannot_press_enter() {
        let mut auto = AutoContinue::default();
        let evil = plan(&[("x\rrm -rf ~\n\u{1b}[A\u{9b}", StepState::Active)]);
        let typed = Decision::Type("Continue xrm -rf ~[A\r".into());
        assert_eq!(decide(&mut auto, &LIVE, &evil, 1), typed);
    }

    #[test]
    fn a_failure_a_question_or_a_finished_plan_waits_for_a_person() {
        let plan = Some(&under_way());
        assert_eq!(waits("Tests FAILED", "", plan), "the notification tells of a failure: Tests FAILED");
        let screen = "error: no such file\n$ ls\n\n";
        assert_eq!(waits("", screen, plan), "the screen shows a failure: error: no such file");
        assert_eq!(waits("", "Shall I go on?\n\n> \n", plan), "the agent asks: Shall I go on?");
        assert_eq!(waits("", "", None), "there is no plan to go on with");
        assert_eq!(waits("", "", Some(&self::plan(&[]))), "there is no plan to go on with");
        let done = self::plan(&[("M1", StepState::Done)]);
        assert_eq!(waits("", "", Some(&done)), "every step of the plan is done");
        let failed = self::plan(&[("M1", StepState::Err), ("M2", StepState::Waiting)]);
        assert_eq!(waits("", "", Some(&failed)), "step M1 of the plan has failed");
    }

    #[test]
    fn it_waits_between_two_times_and_stops_after_some_in_a_row_until_a_person_types() {
        let mut auto = AutoContinue::default();
        let at = |auto: &mut AutoContinue, now| decide(auto, &LIVE, &under_way(), now) != Decision::Wait;
        assert!(at(&mut auto, 1000));
        assert!(!at(&mut auto, 3999));
        assert_eq!(last(&auto), (Outcome::Skipped, "cooling down for another 1 ms"));
        assert!(at(&mut auto, 4000));
        assert!(at(&mut auto, 7000));
        assert!(!at(&mut auto, 10_000));
        assert_eq!(last(&auto), (Outcome::Skipped, "3 times in a row without a person"));
        auto.human_typed("s");
        assert!(at(&mut auto, 10_001));
        // A clock that was set back.
        assert!(at(&mut auto, 500));
    }

    #[test]
    fn a_dry_run_shows_what_the_real_one_would_do() {
        let (mut wet, mut dry) = (AutoContinue::default(), AutoContinue::default());
        let rehearsal = AutoContinueOptions { dry_run: true, ..LIVE };
        for now in (0..40_000).step_by(1700) {
            decide(&mut wet, &LIVE, &under_way(), now);
            assert_eq!(decide(&mut dry, &rehearsal, &under_way(), now), Decision::Wait);
        }
        let outcomes = |auto: &AutoContinue| -> Vec<bool> {
            auto.audit().map(|entry| entry.outcome == Outcome::Skipped).collect()
        };
        assert_eq!(outcomes(&wet), outcomes(&dry));
        assert_eq!(outcomes(&dry).iter().filter(|skipped| !**skipped).count(), 3);
    }

    #[test]
    fn a_paused_terminal_waits_and_a_resumed_one_counts_from_zero() {
        let mut auto = AutoContinue::default();
        assert!(!auto.resume("s", "by hand", LIVE.engine, 1));
        assert!(auto.pause("s", "by hand", LIVE.engine, 2));
        assert!(!auto.pause("s", "again", LIVE.engine, 3));
        assert_eq!(auto.paused().collect::<Vec<_>>(), ["s"]);
        assert_eq!(decide(&mut auto, &LIVE, &under_way(), 4), Decision::Wait);
        assert_eq!(last(&auto), (Outcome::Skipped, "paused"));
        assert!(auto.resume("s", "by hand", LIVE.engine, 5));
        assert_eq!(last(&auto), (Outcome::Resumed, "by hand"));
        assert_ne!(decide(&mut auto, &LIVE, &under_way(), 6), Decision::Wait);
        let outcomes: Vec<_> = auto.audit().map(|entry| entry.outcome).collect();
        assert_eq!(outcomes, [Outcome::Paused, Outcome::Skipped, Outcome::Resumed, Outcome::Fired]);
        auto.forget("s");
        assert_eq!((auto.paused().count(), auto.audit().len()), (0, 4));
    }

    #[test]
    fn the_last_fifty_decisions_are_kept() {
        let mut auto = AutoContinue::default();
        for now in 0..60 {
            decide(&mut auto, &LIVE, &under_way(), now);
        }
        assert_eq!(auto.audit().map(|entry| entry.at_ms).collect::<Vec<_>>(), (10..60).collect::<Vec<_>>());
    }
}
