package scripts

import "strconv"

// Code is the outcome of a transition for one job. Zero means done; a negative value means that the transition was
// refused. From -1 to -11 the values are BullMQ's (lifecycle 10), the rest are ours.
type Code int

// The codes.
const (
	OK Code = 0
	// NotMoved is the answer of MoveToWaitingChildren when there is nothing to wait for, and of RemoveChildDependency
	// when the child was not pending.
	NotMoved Code = 1
	// AddedAgain is the answer of Replay when the original was gone.
	AddedAgain Code = 1

	JobMissing        Code = -1  // the job's hash does not exist
	LockMissing       Code = -2  // the job has no lock
	WrongState        Code = -3  // the job is not where the transition takes it from
	PendingChildren   Code = -4  // children of the job have not finished
	ParentMissing     Code = -5  // the parent's hash does not exist
	LockMismatch      Code = -6  // the lock belongs to another token
	ParentReplaced    Code = -7  // the job already has another living parent
	SchedulerOwned    Code = -8  // the job is the current iteration of a scheduler
	FailedChildren    Code = -9  // a child's failure keeps the job from completing
	SchedulerConflict Code = -10 // the id of a scheduler's iteration is taken
	SchedulerBusy     Code = -11 // the next slots of a scheduler are taken

	Broken Code = -30 // a key or field of the job holds something that BullMQ never writes there

	Locked    Code = -20 // a worker holds the job or one below it, so it cannot be removed (BullMQ answers 0)
	NotPaused Code = -21 // obliterate of a queue that is not paused (BullMQ answers -1)
	HasActive Code = -22 // obliterate of a queue with active jobs, not forced (BullMQ answers -2)

	Replayed      Code = -24 // the dead letter was replayed before
	NotDeadLetter Code = -25 // the job does not tell of an original
)

func (c Code) String() string { return strconv.Itoa(int(c)) }
