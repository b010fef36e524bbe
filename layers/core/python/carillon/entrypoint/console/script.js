"use strict";

// What is shown, as plain values: these functions know no page, and are tested without one.

const shown = (value) => (value === null || value === undefined ? "–" : String(value));

const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(2)} %`);

const lateness = (ms) => (ms === null ? "–" : ms < 10000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`);

const figuresOf = (stats) => [
  ["runs ended", shown(stats.runs.total)],
  ["succeeded", shown(stats.runs.succeeded)],
  ["dead-lettered", shown(stats.runs.dead_lettered)],
  ["skipped", shown(stats.runs.skipped)],
  ["cancelled", shown(stats.runs.cancelled)],
  ["success share", share(stats.success_share)],
  ["attempts", shown(stats.attempts)],
  ["late, half within", lateness(stats.lateness_ms.p50)],
  ["late, 99 % within", lateness(stats.lateness_ms.p99)],
];

const reasonsOf = (stats) =>
  Object.entries(stats.reasons).flatMap(([state, reasons]) =>
    Object.entries(reasons).map(([reason, runs]) => [state, reason, shown(runs)]));

const queuesOf = (stats) =>
  Object.entries(stats.queues).map(([name, queue]) => [
    name, shown(queue.waiting), shown(queue.delayed), shown(queue.in_flight),
    queue.oldest_age_seconds === null ? "–" : `${queue.oldest_age_seconds} s`,
  ]);

const limitsOf = (told) =>
  Object.entries(told.limits).map(([name, limit]) => [
    name.replaceAll("_", " "),
    name in told.usage ? `${told.usage[name]} of ${limit ?? "any number"}` : limit === null ? "none" : shown(limit),
  ]);

const targetOf = (target) => target.url ?? target.queue_url ?? "–";

const jobRow = (job) => [
  job.name ?? job.id, job.state, job.state_reason ?? "", shown(job.next_fire_time), targetOf(job.target),
];

const deadRow = (run) => [run.id, shown(run.scheduled_for), run.reason ?? "", shown(run.attempts?.length ?? run.attempt)];

const queryOf = (wanted) => {
  const given = Object.entries(wanted).filter(([, value]) => value);
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

const problemText = (status, problem) => `${status}: ${problem?.detail ?? problem?.title ?? "no answer that says why"}`;

// The page. Whatever the API tells is set as text: nothing of it can become markup.

function start(page) {
  const at = (id) => page.getElementById(id);
  const kept = "carillon-key";
  const lists = {};
  let key = "";

  const element = (name, text) => {
    const made = page.createElement(name);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const say = (text, failed = false) => {
    at("status").textContent = text;
    at("status").classList.toggle("failed", failed);
  };

  async function ask(path, wanted = {}) {
    const answer = await fetch(`v1/${path}${queryOf(wanted)}`, {
      headers: { Authorization: `Bearer ${key}` }, credentials: "omit", cache: "no-store",
    });
    const document = await answer.json().catch(() => null);
    if (!answer.ok) throw new Error(problemText(answer.status, document));
    return document;
  }

  const fillTerms = (id, entries) => {
    at(id).replaceChildren(...entries.flatMap(([term, value]) => [element("dt", term), element("dd", value)]));
  };

  const row = (cells, name = "td") => {
    const made = element("tr");
    made.append(...cells.map((cell) => element(name, cell)));
    return made;
  };

  const fillTable = (id, titles, rows) => {
    if (!rows.length) return at(id).replaceChildren(element("p", "none"));
    const [table, head, body] = [element("table"), element("thead"), element("tbody")];
    head.append(row(titles, "th"));
    body.append(...rows.map((cells) => row(cells)));
    table.append(head, body);
    return at(id).replaceChildren(table);
  };

  async function showList(id, button, path, wanted, titles, rowOf, more = false) {
    const list = more ? lists[id] : { rows: [], cursor: "" };
    const page = await ask(path, { ...wanted, limit: "50", cursor: list.cursor });
    list.rows.push(...page.data.map(rowOf));
    list.cursor = page.next_cursor ?? "";
    lists[id] = list;
    at(button).hidden = !list.cursor;
    fillTable(id, titles, list.rows);
  }

  const showJobs = (more) => showList(
    "jobs", "more-jobs", "jobs",
    { state: at("state").value, name_prefix: at("prefix").value, label: at("label").value },
    ["job", "state", "why", "next", "target"], jobRow, more);

  const showDead = (more) => showList(
    "dead", "more-dead", "dead-letters", {}, ["run", "due", "reason", "attempts"], deadRow, more);

  async function showFigures() {
    const [stats, limits] = await Promise.all([ask("stats"), ask("limits")]);
    fillTerms("figures", figuresOf(stats));
    fillTable("reasons", ["ended", "reason", "runs"], reasonsOf(stats));
    fillTable("queues", ["queue", "waiting", "delayed", "in flight", "oldest"], queuesOf(stats));
    fillTerms("limits", limitsOf(limits));
  }

  async function trying(work) {
    say("asking …");
    try {
      await work();
      at("shown").hidden = false;
      say(`as of ${new Date().toISOString()}`);
    } catch (error) {
      say(error.message, true);
    }
  }

  at("access").addEventListener("submit", (event) => {
    event.preventDefault();
    key = at("key").value.trim();
    if (at("keep").checked) sessionStorage.setItem(kept, key);
    else sessionStorage.removeItem(kept);
    trying(async () => { await showFigures(); await showJobs(false); await showDead(false); });
  });
  at("filter").addEventListener("submit", (event) => {
    event.preventDefault();
    trying(() => showJobs(false));
  });
  at("more-jobs").addEventListener("click", () => trying(() => showJobs(true)));
  at("more-dead").addEventListener("click", () => trying(() => showDead(true)));

  const before = sessionStorage.getItem(kept);
  if (before) {
    at("key").value = before;
    at("keep").checked = true;
  }
}

if (typeof document === "undefined") {
  module.exports = { figuresOf, reasonsOf, queuesOf, limitsOf, jobRow, deadRow, queryOf, problemText };
} else {
  start(document);
}
