// Plans of agents on their workspace's card: each step and how it stands.

import { h, icon, keyed, setAttribute, setText } from "../dom.js";

const STATES = { done: "done", active: "under way", waiting: "waiting", err: "failed" };
const MARKS = { done: "check", active: "play", waiting: "ring", err: "close" };

export function plans(desk) {
  /** workspaceId -> the element on its card. */
  const drawn = new Map();
  desk.onDraw(() => {
    const wanted = new Map(desk.state.plans.filter(({ steps }) => steps.length > 0).map((plan) => [plan.workspaceId, plan]));
    for (const [id, element] of drawn) {
      if (wanted.has(id)) continue;
      element.remove();
      drawn.delete(id);
    }
    for (const card of desk.sidebar.element.querySelectorAll(".card")) {
      const plan = wanted.get(card.dataset.workspace);
      if (!plan) continue;
      const element = drawn.get(plan.workspaceId) ?? planElement();
      drawn.set(plan.workspaceId, element);
      if (element.parentElement !== card) card.querySelector(".rows").before(element);
      element.update(plan);
    }
  });
}

function planElement() {
  const title = h("span", { class: "plan-title" });
  const count = h("span", { class: "plan-count" });
  const steps = h("ol", { class: "plan-steps" });
  let shown = null;
  const head = h("button", { type: "button", class: "plan-head", "aria-expanded": "true", onclick: () => {
    steps.hidden = !steps.hidden;
    setAttribute(head, "aria-expanded", String(!steps.hidden));
  } }, h("span", { class: "plan-fold", "aria-hidden": "true" }), title, count);
  const element = h("section", { class: "plan", "aria-label": "Plan" }, head, steps);
  element.update = (plan) => {
    if (plan === shown) return;
    shown = plan;
    const done = plan.steps.filter(({ state }) => state === "done").length;
    const failed = plan.steps.some(({ state }) => state === "err");
    setText(title, plan.agentId ? `Plan of ${plan.agentId}` : "Plan");
    setAttribute(title, "title", plan.agentId ?? null);
    setText(count, `${done} of ${plan.steps.length}`);
    element.classList.toggle("failed", failed);
    element.classList.toggle("complete", done === plan.steps.length);
    keyed(steps, plan.steps, ({ id }) => id, step, (element, step) => element.update(step));
    // The step under way is seen when the list is longer than its place.
    const active = plan.steps.findIndex(({ state }) => state === "active" || state === "err");
    const at = steps.children[active];
    if (at) steps.scrollTop = at.offsetTop - steps.offsetTop - steps.clientHeight / 2;
  };
  return element;
}

function step() {
  const mark = h("span", { class: "step-mark" });
  const title = h("span", { class: "step-title" });
  const state = h("span", { class: "unseen" });
  const element = h("li", {}, mark, title, state);
  let shown = null;
  element.update = (next) => {
    setText(title, next.title);
    setAttribute(element, "title", `${next.title} (${STATES[next.state]})`);
    setText(state, `, ${STATES[next.state]}`);
    if (next.state === shown) return;
    shown = next.state;
    element.className = `step is-${next.state}`;
    setAttribute(element, "aria-current", next.state === "active" ? "step" : null);
    mark.replaceChildren(icon(MARKS[next.state]));
  };
  return element;
}
