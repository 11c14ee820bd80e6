package enum_test

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

type colour uint8

var colours = []string{"", "red", "green"}

func TestName(t *testing.T) {
	for _, c := range []struct {
		v    colour
		want string
	}{{0, ""}, {1, "red"}, {2, "green"}, {3, "colour(3)"}, {255, "colour(255)"}} {
		if got := enum.Name(c.v, colours, "colour(%d)"); got != c.want {
			t.Errorf("%d: %q, want %q", uint8(c.v), got, c.want)
		}
	}
	if got := enum.Name(-1, colours, "unknown"); got != "unknown" {
		t.Errorf("-1: %q", got)
	}
}

func TestParse(t *testing.T) {
	for i, name := range colours[1:] {
		if v, err := enum.Parse[colour](name, colours, "test.Parse", "red or green"); err != nil || v != colour(i+1) {
			t.Errorf("%s: %d, %v", name, v, err)
		}
	}
	for _, name := range []string{"", "blue"} {
		_, err := enum.Parse[colour](name, colours, "test.Parse", "red or green")
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := enum.Parse[colour]("blue", colours, "test.Parse", "red or green")
	if want := `test.Parse: invalid: want red or green, got "blue"`; err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
