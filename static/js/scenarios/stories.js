// Three stories that two agents play on the real authority. A step is one call, or a wait for something on the live
// socket. `judge` looks at the result and sets the checks: each check is set from something that was seen.

/** By id: {resources, checks, steps}. */
export const STORIES = {
  lock: {
    resources: ["lock:deploy/production"],
    checks: ["one_holder", "told", "trust", "rises", "receipts"],
    steps: [
      ask(0, 0, (run, { lease }) => run.keep("token", lease.fencingToken)),
      ask(1, 0, (run, answer) => run.check("told", saysWhenToAskAgain(run, answer))),
      release(0, 0, (run, { trust }) => run.check("trust", trust.delta > 0, { score: trust.score })),
      ask(1, 0, risen, { again: true }),
      release(1, 0),
    ],
  },
  crash: {
    resources: ["lock:deploy/production"],
    checks: ["one_holder", "expiry", "once", "offered", "rises", "stale", "receipts"],
    steps: [
      ask(0, 0, async (run, { lease }) => {
        run.keep("token", lease.fencingToken);
        run.keep("lease", lease);
        run.keep("expiries", (await run.trust(0)).expiries);
      }),
      ask(1, 0),
      {
        agent: 0,
        wait: "expired",
        resource: 0,
        until: (run, picture) => !picture.holders.some((lease) => run.names(lease) === 0),
        async judge(run, _, { picture, events }) {
          const expired = events.find((event) => event.event === "expired" && event.actorDid === run.did(0));
          run.check("expiry", !expired || Date.parse(expired.at) === Date.parse(run.kept("lease").expiresAt));
          const { score, expiries } = await run.trust(0);
          run.check("once", expiries === run.kept("expiries") + 1, { score });
          const [first] = picture.queue.filter((wait) => run.names(wait) === 0);
          run.check("offered", first?.actorDid === run.did(1) && Boolean(first.offeredUntil));
        },
      },
      ask(1, 0, risen, { again: true }),
      release(0, 0, (run, { reason }) => run.check("stale", reason === "stale_lease"), { late: true }),
      release(1, 0),
    ],
  },
  deadlock: {
    resources: ["lock:db/schema", "lock:deploy/staging"],
    checks: ["one_holder", "refused", "named", "keeps", "goes_on", "receipts"],
    steps: [
      ask(0, 0),
      ask(1, 1),
      ask(0, 1),
      ask(1, 0, (run, answer) => {
        run.check("refused", answer.reason === "deadlock" && answer.cycle?.length === 2);
        run.check("named", answer.holder === run.did(0) && answer.waitingOn === run.resource(1), answer);
        const waits = run.live.picture.queue.filter((wait) => run.names(wait) !== -1);
        run.check("keeps", waits.length === 1 && waits[0].actorDid === run.did(0));
      }),
      release(1, 1),
      ask(0, 1, (run, answer) => run.check("goes_on", answer.ok), { again: true }),
    ],
  },
};

function ask(agent, resource, judge, more = {}) {
  return { agent, resource, operation: "lease", judge, ...more };
}

function release(agent, resource, judge, more = {}) {
  return { agent, resource, operation: "release", judge, ...more };
}

const saysWhenToAskAgain = (run, { reason, holder, position, stampede }) =>
  reason === "lease_held" && holder === run.did(0) && position === 1 && stampede.waitMs > 0;

function risen(run, { lease }) {
  const before = run.kept("token");
  run.check("rises", lease?.fencingToken > before, { before, after: lease?.fencingToken });
}
