package bivouac

import "github.com/bivouac-ml/bivouac/checkpoint/training"

// KindOfTraining is as what an event of the checkpointer is told.
func KindOfTraining(k training.EventKind) EventKind { return eventKinds[k] }
