-- include: call

-- inChunks issues a command with many members as several of a length that unpack can take.
local function inChunks(command, key, members)
  for from = 1, #members, 200 do
    call(command, key, unpack(members, from, math.min(from + 199, #members)))
  end
end

-- reversed returns a list the other way round.
local function reversed(list)
  local other = {}
  for i = #list, 1, -1 do
    other[#other + 1] = list[i]
  end
  return other
end

-- finite reads a number of a hash that anybody may have written to; nil if it is none, or no place in a set.
local function finite(text)
  local n = tonumber(text or "")
  if n and n == n and n ~= math.huge and n ~= -math.huge then
    return n
  end
  return nil
end

-- decode reads a JSON object; anything else is nil.
local function decode(json)
  if not json then
    return nil
  end
  local ok, value = pcall(cjson.decode, json)
  if ok and type(value) == "table" then
    return value
  end
  return nil
end

-- increment adds one to a counter in a hash; a field that is no number counts as missing.
local function increment(key, field)
  local n = redis.pcall("HINCRBY", key, field, 1)
  if type(n) == "number" then
    return n
  end
  call("HSET", key, field, 1)
  return 1
end

-- count adds one to a counter that is a key of its own; one that is no number starts anew.
local function count(key)
  local n = redis.pcall("INCR", key)
  if type(n) == "number" then
    return n
  end
  call("SET", key, 1)
  return 1
end

-- attempt runs f for one job of a batch and returns its code. A job with a key or field that holds something else than
-- it should must not keep the others from being done, so it gets a code of its own; any other error ends the script.
local function attempt(f, ...)
  local ok, result = pcall(f, ...)
  if ok then
    return result
  end
  local message = type(result) == "table" and result.err or tostring(result)
  if string.find(message, "WRONGTYPE", 1, true) or string.find(message, "not an integer", 1, true)
    or string.find(message, "not a valid float", 1, true) then
    return -30
  end
  error(result, 0)
end
