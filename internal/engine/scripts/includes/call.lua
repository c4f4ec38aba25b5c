-- The frame of every script: the queue it acts on, and its arguments, which are read one after the other.
--
-- KEYS[1]  the queue's meta hash; its name without "meta" starts every other key of the queue
-- ARGV[1]  "1" if waiting jobs of a paused queue belong into the paused list (lifecycle 12.1)
local call = redis.call
local base = string.sub(KEYS[1], 1, -5)
local legacyPause = ARGV[1] == "1"

local lastArgument = 1

local function text()
  lastArgument = lastArgument + 1
  return ARGV[lastArgument]
end

local function number()
  return tonumber(text())
end

local function flag()
  return text() == "1"
end

-- texts reads a count and then as many arguments.
local function texts()
  local list = {}
  for i = 1, number() do
    list[i] = text()
  end
  return list
end

-- whole writes a number without exponent and without losing digits, as concatenation would.
local function whole(n)
  return string.format("%.0f", n)
end
