-- include: call

-- releaseLock drops the lock of a job if the token holds it (lifecycle P6); the token "0" stands for no lock.
local function releaseLock(base, id, token)
  if token == "0" then
    return 0
  end
  local holder = call("GET", base .. id .. ":lock")
  if not holder then
    return -2
  end
  if holder ~= token then
    return -6
  end
  call("DEL", base .. id .. ":lock")
  call("SREM", base .. "stalled", id)
  return 0
end
