package scripts

import (
	"context"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
)

// ReplayedLetter is what became of one dead letter.
type ReplayedLetter struct {
	// Code is OK when the original was reprocessed in place, AddedAgain when it was gone. Otherwise the letter stays:
	// JobMissing, WrongState, Locked, Replayed, NotDeadLetter, Broken.
	Code Code
	// State is where the original is that cannot be replayed, with WrongState only.
	State keys.State
	// Queue and ID name the original, under the same prefix; "" when the letter does not tell.
	Queue, ID string
}

// lettersPerScript bounds a script of Replay, which does more for each job than others do.
const lettersPerScript = 200

// Replay puts the originals of dead letters back to waiting and deletes the letters; t is the dead-letter queue. On an
// error what became of the letters of the chunks that ran is returned with it.
func (r *Runner) Replay(ctx context.Context, t Target, now time.Time, ids []string) ([]ReplayedLetter, error) {
	out := make([]ReplayedLetter, 0, len(ids))
	for chunk := range slices.Chunk(ids, lettersPerScript) {
		reply, err := r.write(ctx, "replayJobs", t, args(now, t.Replays()).texts(keys.ReservedIDs()).texts(chunk))
		if err != nil {
			return out, err
		}
		for _, row := range list(reply) {
			cells := list(row)
			if len(cells) < 4 {
				return out, badReply("replayJobs", reply)
			}
			out = append(out, ReplayedLetter{
				Code: Code(integer(cells[0])), State: keys.State(text(cells[1])), Queue: text(cells[2]), ID: text(cells[3]),
			})
		}
	}
	return out, nil
}
