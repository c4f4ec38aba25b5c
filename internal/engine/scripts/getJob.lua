-- Reads one job as a page shows it: where it is, and every field cut to a length (lifecycle 2, 9). Reads only.
--
-- KEYS[1]  meta of the queue
-- ARGV     legacy pause, id, bytes kept of each field, begin payloads that are longer too (1/0)
--
-- Reply    state; ms left of its lock (-2 no lock); score in the state's sorted set or ""; number of log rows; counts
--          of its children: unfinished, completed, failures ignored, failed; then field, length and beginning of each;
--          to begin a long payload takes a copy of all of it, so it is left out unless asked for

-- include: state

local id, limit, long = text(), number(), flag()
local key = base .. id
local state = stateOf(base, id)

-- size returns what a counting command answers, 0 where the key holds something else.
local function size(command, k)
  local n = redis.pcall(command, k)
  return type(n) == "number" and n or 0
end

local score = ""
if state ~= "active" and state ~= "waiting" and state ~= "unknown" then
  score = call("ZSCORE", base .. state, id)
end
local reply = {
  state, call("PTTL", key .. ":lock"), score, size("LLEN", key .. ":logs"),
  size("SCARD", key .. ":dependencies"), size("HLEN", key .. ":processed"), size("HLEN", key .. ":failed"),
  size("ZCARD", key .. ":unsuccessful"),
}
local names = redis.pcall("HKEYS", key)
if names.err then
  return reply
end
for _, name in ipairs(names) do
  local length = call("HSTRLEN", key, name)
  local left = length > limit and not long and (name == "data" or name == "returnvalue")
  local value = left and "" or call("HGET", key, name)
  reply[#reply + 1] = name
  reply[#reply + 1] = length
  reply[#reply + 1] = string.sub(value, 1, limit)
end
return reply
