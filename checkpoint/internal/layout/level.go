package layout

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// IsRoot reports whether a directory has the file that every checkpoint of Bivouac and Orbax has at
// its root. It returns false for a directory that cannot be read.
func IsRoot(ctx context.Context, st store.Store, dir string) bool {
	_, err := st.Stat(ctx, path.Join(dir, orbax.CheckpointFile))
	return err == nil
}

// levels is how many directories above a directory are searched for a checkpoint that contains it.
// An array of an item lies three levels below its checkpoint; its chunks lie deeper.
const levels = 4

// marks are files at the root of a checkpoint of Bivouac or Orbax, or of an item.
var marks = []string{orbax.CheckpointFile, manifest.Name, orbax.TreeFile}

// Within returns the checkpoint that is, or holds, the directory at. at is a name in st, or a path
// if st is nil. Of several checkpoints Within returns the outermost that begins from or more levels
// above at. ok is false if there is no checkpoint.
func Within(ctx context.Context, at string, st store.Store, from int) (dir string, up int, ok bool, err error) {
	var above []string
	for n := from; n <= levels; n++ {
		dir, there := locate.Above(at, st, n)
		if !there {
			break
		}
		above = append(above, dir)
	}
	holds := func(n, mark int) (bool, error) { return locate.Holds(ctx, above[n], st, marks[mark]) }
	if st == nil && store.IsURL(at) || st != nil && st.Properties().Parallel > 0 {
		holds = atOnce(len(above), holds)
	}
	for n := range above {
		for mark := range marks {
			is, err := holds(n, mark)
			if err != nil {
				return "", 0, false, err
			}
			if is {
				dir, up, ok = above[n], from+n, true
				break
			}
		}
	}
	return dir, up, ok, nil
}

// atOnce asks all questions of Within at the same time, because a bucket takes some requests for
// each, and returns their answers.
func atOnce(n int, holds func(n, mark int) (bool, error)) func(n, mark int) (bool, error) {
	type answer struct {
		is  bool
		err error
	}
	answers := make([]answer, n*len(marks))
	var asked sync.WaitGroup
	for i := range answers {
		asked.Go(func() { answers[i].is, answers[i].err = holds(i/len(marks), i%len(marks)) })
	}
	asked.Wait()
	return func(n, mark int) (bool, error) {
		a := answers[n*len(marks)+mark]
		return a.is, a.err
	}
}

// CheckOutside returns errs.Invalid if at, which is to become a checkpoint, lies in a checkpoint.
func CheckOutside(ctx context.Context, at string, st store.Store) error {
	dir, _, ok, err := Within(ctx, at, st, 1)
	if !ok {
		return err
	}
	return &errs.Error{Kind: errs.Invalid, Want: "a path outside of checkpoints",
		Got: "a path inside the checkpoint " + dir,
		Remedy: "save beside it; to add items to it, or replace them, save to " + dir +
			" with SaveOptions.Name and PartialUpdate"}
}

// StepIn reports whether dir is the directory of a run: it returns the name of a checkpoint in it,
// or of its lock file, or "" if it finds neither.
func StepIn(ctx context.Context, st store.Store, dir string) (string, error) {
	for e, err := range st.List(ctx, dir) {
		switch {
		case errs.KindOf(err) == errs.NotFound, errs.KindOf(err) == errs.Invalid: // it is gone, or a file
			return "", nil
		case err != nil:
			return "", err
		case e.Name == store.LockName:
			return e.Name, nil
		case e.Dir && !store.IsStaging(e.Name):
			if is, err := locate.Holds(ctx, path.Join(dir, e.Name), st, orbax.CheckpointFile); is || err != nil {
				return e.Name, err
			}
		}
	}
	return "", nil
}

// wrongLevel returns an error if the directory lies in a checkpoint, which it names. It returns nil
// if neither of the two directories above is a checkpoint or an item.
func (c *Checkpoint) wrongLevel(ctx context.Context) error {
	for name := c.name; name != ""; {
		if name = path.Dir(name); name == "." {
			name = ""
		}
		remedy := "open "
		if !IsRoot(ctx, c.st, name) {
			if _, err := c.st.Stat(ctx, path.Join(name, orbax.TreeFile)); err != nil {
				continue
			}
			remedy = "open the checkpoint above "
		}
		return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Open", Subject: c.name, Want: "a checkpoint",
			Got: "a part of a checkpoint",
			Remedy: remedy + path.Join(strings.TrimPrefix(c.st.Properties().Name, "local:"), name) +
				", and name the item in the options of the load"}
	}
	return nil
}
