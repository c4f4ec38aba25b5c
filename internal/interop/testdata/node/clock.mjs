// The scenario's clock: while it is set, everything in this process that asks for the time gets it.
const RealDate = Date;
let frozen = null;

class ScenarioDate extends RealDate {
  constructor(...args) {
    if (args.length === 0 && frozen !== null) super(frozen);
    else super(...args);
  }
  static now() {
    return frozen === null ? RealDate.now() : frozen;
  }
}
globalThis.Date = ScenarioDate;

// setClock freezes the time at ms since the epoch; null gives the real time back.
export function setClock(ms) {
  frozen = ms ?? null;
}
