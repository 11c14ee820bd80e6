package serve

import (
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
)

// isCheckpoint tells whether a path holds a checkpoint.
func isCheckpoint(k *call) (reply, error) {
	path, o := k.args.path(), &checkpoint.LoadOptions{Options: k.args.context()}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return answer(map[string]bool{"is": checkpoint.IsCheckpoint(k.ctx, path, o)})
}

// remove deletes a checkpoint or an item.
func remove(k *call) (reply, error) {
	path := k.args.path()
	o := &checkpoint.DeleteOptions{Options: k.args.context(), Name: k.args.text("item"),
		MissingOK: k.args.flag("missing_ok")}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	deleted, err := checkpoint.Delete(k.ctx, path, o)
	return deletion(deleted, err)
}

func deletion(deleted bool, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]bool{"deleted": deleted})
}

// verify reads a checkpoint and compares all bytes with their checksums.
func verify(k *call) (reply, error) {
	path, context := k.args.path(), k.args.context()
	o := &integrity.VerifyOptions{Key: context.Verification, Label: context.Label,
		Progress: k.progress(k.args.flag("progress"))}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	report, err := integrity.Verify(k.ctx, path, o)
	if err != nil {
		return reply{}, err
	}
	lines := []string{"covered: " + report.Coverage}
	for _, p := range report.Problems {
		lines = append(lines, oneLine(p))
	}
	return answer(map[string]string{"verdict": report.Verdict().String(), "text": strings.Join(lines, "\n")})
}

// partialSave saves a part of a checkpoint.
func partialSave(k *call) (reply, error) {
	stats, err := hand(k, func(h *handover, items map[string]any) (*checkpoint.Response[checkpoint.SaveStats], error) {
		path := k.args.path()
		o := &partial.SaveOptions{SaveOptions: *k.saveOptions(h), Replace: k.args.flag("replace")}
		if err := k.args.finish(); err != nil {
			return nil, err
		}
		return partial.SaveCheckpointablesAsync(k.ctx, path, items, o)
	})
	if err != nil {
		return reply{}, err
	}
	return answer(saved{Saved: true, Stats: newStats(stats)})
}

// partialFinalize makes a checkpoint of the parts.
func partialFinalize(k *call) (reply, error) {
	path, o := k.args.path(), &partial.FinalizeOptions{Options: k.args.context()}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return nothing(partial.Finalize(k.ctx, path, o))
}

// partialAbort removes the parts.
func partialAbort(k *call) (reply, error) {
	path := k.args.path()
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	return nothing(partial.Abort(k.ctx, path, nil))
}
