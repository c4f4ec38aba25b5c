package scripts

import "context"

// Pause keeps all workers from taking jobs of the queue (lifecycle 8.2).
func (r *Runner) Pause(ctx context.Context, t Target) error {
	_, err := r.write(ctx, "pauseQueue", t, args())
	return err
}

// Resume undoes Pause and drains the list in which BullMQ 5.x kept waiting jobs meanwhile (lifecycle 8.3).
func (r *Runner) Resume(ctx context.Context, t Target) error {
	for first := true; ; first = false {
		left, err := r.write(ctx, "resumeQueue", t, args(first))
		if err != nil {
			return err
		}
		if integer(left) == 0 {
			return nil
		}
	}
}
