package bivouac

import "github.com/bivouac-ml/bivouac/checkpoint/training"

// KindOfTraining is as what an event of the checkpointer is told.
func KindOfTraining(k training.EventKind) EventKind { return eventKinds[k] }

// AwaitSignal returns when SIGTERM has reached the job.
func AwaitSignal[B any](j *Job[B]) { <-j.notice.came.Done() }

// AwaitGrace returns when the grace time after SIGTERM is over.
func AwaitGrace[B any](j *Job[B]) { <-j.notice.over.Done() }
