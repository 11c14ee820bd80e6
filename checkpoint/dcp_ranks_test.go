package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
)

// Files of ranks that are missing, that do not fit together, or that are not data.
func TestFilesOfRanks(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		from   string
		change func(at string) error
		kind   errs.Kind
		want   string
	}{
		"the last rank, with metadata": {"ranks-metadata", func(at string) error {
			return os.Remove(filepath.Join(at, "model_3.pt"))
		}, errs.Corrupt, "model_3.pt: corrupt: the file is missing"},
		"the last rank, without": {"ranks", func(at string) error {
			return os.Remove(filepath.Join(at, "model_3.pt"))
		}, errs.Corrupt, `"model.both": corrupt: 3 chunks that cover 36 of the 48 elements`},
		"a rank between": {"ranks", func(at string) error {
			return os.Remove(filepath.Join(at, "model_1.pt"))
		}, errs.Invalid, "want a checkpoint"},
		"another value": {"ranks", func(at string) error {
			b, err := os.ReadFile(filepath.Join(dcpFiles, "files", "tensor.pt"))
			return errors.Join(err, os.WriteFile(filepath.Join(at, "step_2.pt"), b, 0o644))
		}, errs.Unsupported, "step: unsupported: want parts of one tensor, or the same value on all ranks, " +
			"got another value in step_2.pt than in step_0.pt (load the file of one rank: step_0.pt)"},
		"another tensor": {"ranks", func(at string) error {
			b, err := os.ReadFile(filepath.Join(dcpFiles, "files", "tensor.pt"))
			return errors.Join(err, os.WriteFile(filepath.Join(at, "plain_1.pt"), b, 0o644))
		}, errs.Unsupported, "plain_1.pt than in plain_0.pt"},
		"another structure": {"ranks", func(at string) error {
			b, err := os.ReadFile(filepath.Join(dcpFiles, "files", "tensor.pt"))
			return errors.Join(err, os.WriteFile(filepath.Join(at, "model_3.pt"), b, 0o644))
		}, errs.Unsupported, "model_3.pt than in model_0.pt"},
		"code in a file": {"ranks", func(at string) error {
			b, err := os.ReadFile(filepath.Join(dcpFiles, "refused", "attack.pt"))
			return errors.Join(err, os.WriteFile(filepath.Join(at, "step_0.pt"), b, 0o644))
		}, errs.Unsupported, "posix.system"},
		"code in the metadata": {"ranks-metadata", func(at string) error {
			return os.WriteFile(filepath.Join(at, "metadata.pkl"), []byte("cposix\nsystem\n(Vtouch x\ntR."), 0o644)
		}, errs.Unsupported, "posix.system"},
		"metadata that is no dictionary": {"ranks-metadata", func(at string) error {
			return os.WriteFile(filepath.Join(at, "metadata.pkl"), []byte("N."), 0o644)
		}, errs.Corrupt, "want a dict, got None"},
		"metadata without a size": {"ranks-metadata", func(at string) error {
			return os.WriteFile(filepath.Join(at, "metadata.pkl"), []byte("}."), 0o644)
		}, errs.Corrupt, "world_size"},
		"a file that is cut short": {"ranks", func(at string) error {
			return os.Truncate(filepath.Join(at, "model_2.pt"), 500)
		}, errs.Corrupt, "model_2.pt"},
	} {
		t.Run(name, func(t *testing.T) {
			at := copyDCP(t, c.from)
			if err := c.change(at); err != nil {
				t.Fatal(err)
			}
			_, err := checkpoint.Load(ctx, at, nil)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %v with %q", err, c.kind, c.want)
			}
			if r, err := integrity.Verify(ctx, at, nil); err == nil && r.OK() {
				t.Error("verify finds nothing")
			}
		})
	}
}

// The file of one rank has parts. They are named, and not taken for the whole.
func TestFileOfOneRank(t *testing.T) {
	_, err := checkpoint.Load(context.Background(), filepath.Join(dcpFiles, "ranks", "model_1.pt"), nil)
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "both: unsupported: want a whole tensor, "+
		"got the part of one rank of a tensor [6,8] (load the directory with the files of all ranks)") {
		t.Error(err)
	}
}
