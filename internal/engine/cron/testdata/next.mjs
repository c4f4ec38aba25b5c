// Reads a JSON array of {pattern, tz, start, seed, n} and prints, for each, an array of the next runs in ms, with null
// where the search found none, or "error" when the pattern is refused.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[2] + '/');
const { CronExpressionParser } = require('cron-parser');

const answer = ({ pattern, tz, start, seed, n }) => {
  let it;
  try {
    it = CronExpressionParser.parse(pattern, { currentDate: new Date(start), tz, ...(seed ? { hashSeed: seed } : {}) });
  } catch {
    return 'error';
  }
  const out = [];
  for (let i = 0; i < n; i++) {
    try {
      const run = it.next().getTime();
      out.push(run);
      // Each run is searched for anew, as a worker does that produces the next iteration.
      it = CronExpressionParser.parse(pattern, { currentDate: new Date(run), tz, ...(seed ? { hashSeed: seed } : {}) });
    } catch {
      out.push(null);
      break;
    }
  }
  return out;
};
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(answer)));
