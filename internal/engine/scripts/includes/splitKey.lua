-- include: call

-- splitKey returns the base of the queue a job's key belongs to, and the job's id. The id is what follows the last
-- colon, unless only a shorter beginning is a queue that exists.
local function splitKey(key)
  local queue = string.match(key, "^.*:")
  local last = queue
  while queue do
    if call("EXISTS", queue .. "meta") == 1 then
      return queue, string.sub(key, #queue + 1)
    end
    queue = string.match(string.sub(queue, 1, -2), "^.*:")
  end
  return last, last and string.sub(key, #last + 1)
end
