// How a workspace's terminals stand beside each other: a tree of splits whose leaves are sessions. Every
// function gives a new tree and leaves the old one. Pure.
//
//   leaf:  {session}
//   split: {direction: "row" | "column", children: [tree, ...], shares: [number, ...]}   shares add up to 1

/** No pane becomes smaller than this part of its split. */
const SHARE_MIN = 0.08;
/** A stored tree deeper or larger than this is not ours. */
const DEPTH_MAX = 12;
const LEAVES_MAX = 64;

export function leaf(session) {
  return { session };
}

export function sessions(tree) {
  if (tree === null) return [];
  return tree.children ? tree.children.flatMap(sessions) : [tree.session];
}

/** `added` beside `session`: right of it in a row, below it in a column. */
export function split(tree, session, direction, added) {
  if (tree === null) return leaf(added);
  if (!tree.children) {
    if (tree.session !== session) return tree;
    return { direction, children: [tree, leaf(added)], shares: [0.5, 0.5] };
  }
  const at = tree.children.findIndex((child) => child.session === session);
  if (at >= 0 && tree.direction === direction) {
    const half = tree.shares[at] / 2;
    return {
      direction,
      children: tree.children.toSpliced(at + 1, 0, leaf(added)),
      shares: tree.shares.toSpliced(at, 1, half, half),
    };
  }
  return { ...tree, children: tree.children.map((child) => split(child, session, direction, added)) };
}

/** Only the leaves that `keeps(session)` says; they take the others' room. Null when nothing is left. */
export function keep(tree, keeps) {
  if (tree === null) return null;
  if (!tree.children) return keeps(tree.session) ? tree : null;
  const left = tree.children.map((child, at) => [keep(child, keeps), tree.shares[at]]).filter(([child]) => child !== null);
  if (left.length === 0) return null;
  if (left.length === 1) return left[0][0];
  const sum = left.reduce((sum, [, share]) => sum + share, 0);
  return flat({ direction: tree.direction, children: left.map(([child]) => child), shares: left.map(([, share]) => share / sum) });
}

/** A row in a row is one row. */
function flat(tree) {
  const at = tree.children.findIndex((child) => child.direction === tree.direction);
  if (at < 0) return tree;
  const inner = tree.children[at];
  const shares = inner.shares.map((share) => share * tree.shares[at]);
  return flat({
    direction: tree.direction,
    children: tree.children.toSpliced(at, 1, ...inner.children),
    shares: tree.shares.toSpliced(at, 1, ...shares),
  });
}

export function replace(tree, session, other) {
  if (tree === null) return leaf(other);
  if (!tree.children) return tree.session === session ? leaf(other) : tree;
  return { ...tree, children: tree.children.map((child) => replace(child, session, other)) };
}

/** Moves the divider after child `at` of the split at `path` by `delta`, a part of that split. */
export function moveDivider(tree, path, at, delta) {
  if (path.length > 0) {
    const [first, ...rest] = path;
    return { ...tree, children: tree.children.map((child, n) => (n === first ? moveDivider(child, rest, at, delta) : child)) };
  }
  const both = tree.shares[at] + tree.shares[at + 1];
  const least = Math.min(SHARE_MIN, both / 2);
  const share = Math.min(both - least, Math.max(least, tree.shares[at] + delta));
  return { ...tree, shares: tree.shares.toSpliced(at, 2, share, both - share) };
}

/** Where everything is, in parts of 1: panes `{session, x, y, width, height}` and dividers. */
export function places(tree) {
  const panes = [];
  const dividers = [];
  const place = (tree, box, path) => {
    if (!tree.children) return void panes.push({ session: tree.session, ...box });
    const isRow = tree.direction === "row";
    let at = isRow ? box.x : box.y;
    tree.children.forEach((child, n) => {
      const side = tree.shares[n] * (isRow ? box.width : box.height);
      if (n > 0) dividers.push({ path, at: n - 1, direction: tree.direction, position: at, share: tree.shares[n - 1] / (tree.shares[n - 1] + tree.shares[n]), box });
      place(child, isRow ? { ...box, x: at, width: side } : { ...box, y: at, height: side }, [...path, n]);
      at += side;
    });
  };
  if (tree !== null) place(tree, { x: 0, y: 0, width: 1, height: 1 }, []);
  return { panes, dividers };
}

/** The session that one comes to from `session` going "left", "right", "up" or "down"; null at the edge. */
export function neighbour(tree, session, direction) {
  const { panes } = places(tree);
  const from = panes.find((pane) => pane.session === session);
  if (!from) return null;
  const isRow = direction === "left" || direction === "right";
  const [near, far, side, across, breadth] = isRow ? ["x", "x", "width", "y", "height"] : ["y", "y", "height", "x", "width"];
  const touches = (pane) =>
    direction === "right" || direction === "down"
      ? Math.abs(pane[near] - (from[far] + from[side])) < 1e-6
      : Math.abs(pane[near] + pane[side] - from[far]) < 1e-6;
  const overlap = (pane) => Math.min(pane[across] + pane[breadth], from[across] + from[breadth]) - Math.max(pane[across], from[across]);
  const found = panes.filter((pane) => touches(pane) && overlap(pane) > 1e-6);
  found.sort((one, other) => overlap(other) - overlap(one));
  return found[0]?.session ?? null;
}

/** The divider that grows `session` (or shrinks it, at an edge) when it moves towards `direction`. */
export function dividerNear(tree, session, direction) {
  const axis = direction === "left" || direction === "right" ? "row" : "column";
  const walk = (tree, path) => {
    if (!tree.children) return tree.session === session ? [] : null;
    for (const [n, child] of tree.children.entries()) {
      const found = walk(child, [...path, n]);
      if (found === null) continue;
      if (tree.direction === axis) found.push({ path, at: n < tree.children.length - 1 ? n : n - 1 });
      return found;
    }
    return null;
  };
  return walk(tree, [])?.[0] ?? null;
}

/** A tree that was stored, or null: whatever is wrong with it, nothing throws. Each session stands once. */
export function parse(value) {
  const seen = new Set();
  const read = (value, depth) => {
    if (typeof value?.session === "string") {
      if (seen.has(value.session) || seen.size >= LEAVES_MAX) return null;
      seen.add(value.session);
      return leaf(value.session);
    }
    const { direction, children, shares } = value ?? {};
    if (depth > DEPTH_MAX || (direction !== "row" && direction !== "column")) return null;
    if (!Array.isArray(children) || !Array.isArray(shares) || children.length !== shares.length) return null;
    if (!shares.every((share) => Number.isFinite(share) && share > 0)) return null;
    const left = children.map((child, n) => [read(child, depth + 1), shares[n]]).filter(([child]) => child !== null);
    if (left.length < 2) return left[0]?.[0] ?? null;
    const sum = left.reduce((sum, [, share]) => sum + share, 0);
    return flat({ direction, children: left.map(([child]) => child), shares: left.map(([, share]) => share / sum) });
  };
  return read(value, 0);
}
