//! What agents say they are about to do: one plan for each workspace.

use std::collections::BTreeMap;

use crate::limits::PLAN_STEPS_MAX;

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StepState {
    Done,
    Active,
    Waiting,
    Err,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The agent's own name for it, unique in its plan; no control characters.
    pub id: String,
    /// One line, for people.
    pub title: String,
    /// Where it stands.
    pub state: StepState,
}

/// A whole plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whose it is.
    pub agent_id: Option<String>,
    /// In the agent's order. At most [`PLAN_STEPS_MAX`].
    pub steps: Vec<PlanStep>,
    /// Unix time in milliseconds of the last change.
    pub updated_at_ms: u64,
}

/// What an agent changes of one step: `None` leaves a field. A step that is not there yet is appended, when
/// it has a title.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct StepPatch {
    pub id: String,
    pub title: Option<String>,
    pub state: Option<StepState>,
}

/// What an agent changes of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanPatch {
    /// `None` leaves it, `Some(None)` removes it.
    pub agent_id: Option<Option<String>>,
    /// Step by step.
    pub steps: Vec<StepPatch>,
    /// Every step is done, whatever it was.
    pub complete: bool,
}

/// Why a plan stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum PlanError {
    UnknownPlan,
    /// A step that is not there, and has no title.
    UnknownStep(String),
    TooManySteps,
}

/// The plans of all workspaces. Which workspaces exist is the registry's to know. Every change is told with
/// all plans (`plansSnapshot`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plans {
    plans: BTreeMap<String, Plan>,
}

impl Plans {
    /// Every plan with its workspace's id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Plan)> {
        self.plans.iter().map(|(workspace_id, plan)| (workspace_id.as_str(), plan))
    }

    /// The plan of one workspace.
    pub fn get(&self, workspace_id: &str) -> Option<&Plan> {
        self.plans.get(workspace_id)
    }

    /// A new plan, in place of the one before.
    pub fn set(&mut self, workspace_id: &str, plan: Plan) {
        self.plans.insert(workspace_id.to_owned(), plan);
    }

    /// Changes the plan: all of the patch, or nothing.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn update(
        &mut self,
        workspace_id: &str,
        patch: PlanPatch,
        now_unix_ms: u64,
    ) -> Result<(), PlanError> {
        let plan = self.plans.get_mut(workspace_id).ok_or(PlanError::UnknownPlan)?;
        let mut steps = plan.steps.clone();
        for StepPatch { id, title, state } in patch.steps {
            if let Some(step) = steps.iter_mut().find(|step| step.id == id) {
                step.title = title.unwrap_or_else(|| std::mem::take(&mut step.title));
                step.state = state.unwrap_or(step.state);
            } else if let Some(title) = title {
                steps.push(PlanStep { id, title, state: state.unwrap_or(StepState::Waiting) });
            } else {
                return Err(PlanError::UnknownStep(id));
            }
        }
        if steps.len() > PLAN_STEPS_MAX {
            return Err(PlanError::TooManySteps);
        }
        if patch.complete {
            steps.iter_mut().for_each(|step| step.state = StepState::Done);
        }
        plan.steps = steps;
        plan.updated_at_ms = now_unix_ms;
        if let Some(agent_id) = patch.agent_id {
            plan.agent_id = agent_id;
        }
        Ok(())
    }

    /// The plan is gone; whether there was one.
    pub fn clear(&mut self, workspace_id: &str) -> bool {
        self.plans.remove(workspace_id).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, state: StepState) -> PlanStep {
        PlanStep { id: id.to_owned(), title: format!("title of {id}"), state }
    }

    fn plans() -> Plans {
        let steps = vec![step("M1", StepState::Active), step("M2", StepState::Waiting)];
        let mut plans = Plans::default();
        plans.set("w", Plan { agent_id: None, steps, updated_at_ms: 1 });
        plans
    }

    fn patch(steps: &[(&str, Option<&str>, Option<StepState>)]) -> PlanPatch {
        let steps = steps.iter().map(|(id, title, state)| StepPatch {
            id: (*id).to_owned(),
            title: title.map(str::to_owned),
            state: *state,
        });
        PlanPatch { steps: steps.collect(), ..PlanPatch::default() }
    }

    fn shown(plans: &Plans) -> Vec<(&str, &str, StepState)> {
        let steps = &plans.get("w").unwrap().steps;
        steps.iter().map(|step| (step.id.as_str(), step.title.as_str(), step.state)).collect()
    }

    #[test]
    fn steps_change_by_their_id_and_new_ones_are_appended() {
        let mut plans = plans();
        let change = patch(&[
            ("M1", None, Some(StepState::Done)),
            ("M2", Some("other"), None),
            ("M3", Some("third"), None),
        ]);
        assert_eq!(plans.update("w", change, 2), Ok(()));
        assert_eq!(
            shown(&plans),
            [
                ("M1", "title of M1", StepState::Done),
                ("M2", "other", StepState::Waiting),
                ("M3", "third", StepState::Waiting),
            ]
        );
        assert_eq!(plans.get("w").unwrap().updated_at_ms, 2);
    }

    #[test]
    fn a_patch_with_an_unknown_step_changes_nothing() {
        let mut plans = plans();
        let change = patch(&[("M1", None, Some(StepState::Done)), ("M9", None, Some(StepState::Done))]);
        assert_eq!(plans.update("w", change, 2), Err(PlanError::UnknownStep("M9".into())));
        assert_eq!(plans, self::plans());
        assert_eq!(plans.update("v", PlanPatch::default(), 2), Err(PlanError::UnknownPlan));
    }

    #[test]
    fn a_plan_has_a_bounded_number_of_steps() {
        let mut plans = plans();
        let ids: Vec<String> = (0..PLAN_STEPS_MAX).map(|n| n.to_string()).collect();
        let many: Vec<_> = ids.iter().map(|id| (id.as_str(), Some("t"), None)).collect();
        assert_eq!(plans.update("w", patch(&many), 2), Err(PlanError::TooManySteps));
        assert_eq!(plans.update("w", patch(&many[2..]), 2), Ok(()));
    }

    #[test]
    fn a_completed_plan_is_done_to_its_last_step_and_a_cleared_one_is_gone() {
        let mut plans = plans();
        let complete = PlanPatch { complete: true, agent_id: Some(Some("claude:1".into())), steps: vec![] };
        plans.update("w", complete, 3).unwrap();
        assert!(shown(&plans).iter().all(|(_, _, state)| *state == StepState::Done));
        assert_eq!(plans.get("w").unwrap().agent_id.as_deref(), Some("claude:1"));
        assert!(plans.clear("w"));
        assert!(!plans.clear("w"));
        assert_eq!(plans.iter().count(), 0);
    }
}
