package checkpoint_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// momentary is a leaf handler of times that writes nothing.
type momentary struct{}

func (momentary) TypeString() string { return "test.Momentary" }

func (momentary) Serialize(context.Context, []handler.Saved[time.Time]) (handler.Commit, error) {
	return nil, nil
}

func (momentary) Deserialize(_ context.Context, _ handler.Reader,
	leaves []handler.Wanted[*time.Location]) ([]time.Time, error) {
	return make([]time.Time, len(leaves)), nil
}

func (momentary) Metadata(_ context.Context, _ handler.Reader,
	leaves []handler.Wanted[*time.Location]) ([]*time.Location, error) {
	return make([]*time.Location, len(leaves)), nil
}

func (momentary) Finalize(context.Context, handler.Writer) error { return nil }

// albumOfTimes takes any map.
type albumOfTimes struct{ lines }

func (albumOfTimes) TypeString() string { return "test.AlbumOfTimes" }

func (albumOfTimes) Handles(v any) bool { _, ok := v.(map[string]any); return ok }

func (albumOfTimes) Save(context.Context, any) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, "times", nil) }, nil
}

// TestWhatIsATree says what saves an item by what its leaves are.
func TestWhatIsATree(t *testing.T) {
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(momentary{}), false); err != nil {
		t.Fatal(err)
	}
	with := options.Options{PyTree: options.PyTree{LeafHandlers: leaves}}
	own := with
	own.Checkpointables = withHandler(t, albumOfTimes{}).Checkpointables
	for _, c := range []struct {
		name  string
		value any
		o     options.Options
		want  string // type string, or what the error says
		kind  errs.Kind
	}{
		{"numbers", map[string]any{"n": 1}, options.Options{}, handler.TypeTree, 0},
		{"a time", map[string]any{"at": time.Unix(1, 0)}, options.Options{}, handler.TypeJSON, 0},
		{"a time with its leaf handler", map[string]any{"at": time.Unix(1, 0)}, with, handler.TypeTree, 0},
		{"one time with its leaf handler", time.Unix(1, 0), with, handler.TypeTree, 0},
		{"a time that another handler takes", map[string]any{"at": time.Unix(1, 0)}, own, "test.AlbumOfTimes", 0},
		{"a time beside an array", map[string]any{"at": time.Unix(1, 0), "w": []byte{1}}, options.Options{}, "at", errs.Unsupported},
		{"a function", map[string]any{"f": func() {}}, options.Options{}, "f", errs.Unsupported},
		{"a function beside a leaf of a handler", map[string]any{"f": func() {}, "at": time.Unix(1, 0)}, with, "f", errs.Unsupported},
	} {
		st := local.New(vfstest.NewMem(), "/", nil)
		err := checkpoint.SaveCheckpointables(t.Context(), "c", map[string]any{"item": c.value},
			&checkpoint.SaveOptions{Store: st, Options: c.o})
		if c.kind != 0 {
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		in, err := checkpoint.Metadata(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
		if err != nil || in.Items[0].Handler != c.want {
			t.Errorf("%s: %+v, %v", c.name, in, err)
		}
	}
}
