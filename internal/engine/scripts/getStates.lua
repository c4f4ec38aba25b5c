-- Tells in which state jobs are (lifecycle 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, number of ids, these
--
-- Reply    waiting, prioritized, active, delayed, waiting-children, completed, failed or unknown, for each id

-- include: state

local states = {}
for i, id in ipairs(texts()) do
  states[i] = stateOf(base, id)
end
return states
