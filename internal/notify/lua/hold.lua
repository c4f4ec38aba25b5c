-- hold: takes the turn to send, or keeps it, and returns what was told.
--
-- KEYS[1] hash: field "sender" is who sends, "until" when that ends by Redis's clock in milliseconds, and each other
--         field an alert that was told to fire
-- ARGV[1] who asks
-- ARGV[2] how long the turn lasts, in milliseconds
-- ARGV[3] "1" if the turn of another one that has ended may be taken
--
-- returns false if it is another one's turn, else the fields and values in turn
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'sender', 'until')
local sender = held[1]
if sender and sender ~= '' and sender ~= ARGV[1] then
  if ARGV[3] ~= '1' or tonumber(held[2]) > ms then
    return false
  end
end
redis.call('HSET', KEYS[1], 'sender', ARGV[1], 'until', string.format('%.0f', ms + ARGV[2]))
return redis.call('HGETALL', KEYS[1])
