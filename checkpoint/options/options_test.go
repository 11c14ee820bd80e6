package options

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOverlayLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawOptions(t), drawOptions(t), drawOptions(t)
		if d := cmp.Diff(Overlay(a, Overlay(b, c)), Overlay(Overlay(a, b), c)); d != "" {
			t.Fatalf("not associative: %s", d)
		}
		if d := cmp.Diff(Overlay(Options{}, a), Overlay(a, Options{})); d != "" {
			t.Fatalf("zero changes something: %s", d)
		}
		both := Overlay(a, b)
		if err := both.Validate(); err != nil {
			t.Fatalf("sound options overlay to unsound ones: %v", err)
		}
		if a.Bivouac.Layout != DefaultLayout {
			if l, err := both.StoredLayout(); err != nil || l != a.Bivouac.Layout {
				t.Fatalf("layout %v, %v, want %v", l, err, a.Bivouac.Layout)
			}
		}
		if a.Bivouac.Compression != DefaultCompression {
			if got, err := both.StoredCompression(); err != nil || got != a.Bivouac.Compression {
				t.Fatalf("compression %v, %v, want %v", got, err, a.Bivouac.Compression)
			}
		}
	})
}

// Every field that a scope sets wins over the next, and every one that it
// leaves open is inherited.
func TestOverlayEveryField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		over, under := drawOptions(t), drawOptions(t)
		out := map[string]any{}
		walk(Overlay(over, under), func(f field) bool { out[f.name] = f.value.Interface(); return true })
		lower := map[string]any{}
		walk(under, func(f field) bool { lower[f.name] = f.value.Interface(); return true })
		twofold := []string{"checkpoint_layout", "array.saving.use_ocdbt", "array.saving.use_zarr3",
			"array.saving.use_compression",
			"bivouac.layout", "bivouac.compression", "bivouac.annotations"}
		walk(over, func(f field) bool {
			want := f.value.Interface()
			if f.value.IsZero() {
				want = lower[f.name]
			}
			if !f.text || slices.Contains(twofold, f.name) {
				return true
			}
			if d := cmp.Diff(want, out[f.name]); d != "" {
				t.Fatalf("%s: %s", f.name, d)
			}
			return true
		})
	})
}

func TestOverlayJoinsAnnotations(t *testing.T) {
	over, under := Options{}, Options{}
	over.Bivouac.Annotations = map[string]string{"owner": "b", "ticket": "7"}
	under.Bivouac.Annotations = map[string]string{"owner": "a", "licence": "MIT"}
	got := Overlay(over, under).Bivouac.Annotations
	if d := cmp.Diff(map[string]string{"owner": "b", "ticket": "7", "licence": "MIT"}, got); d != "" {
		t.Error(d)
	}
	got["owner"] = "c"
	if under.Bivouac.Annotations["owner"] != "a" || over.Bivouac.Annotations["owner"] != "b" {
		t.Error("the result shares its map")
	}
}

func TestOverlayShares(t *testing.T) {
	o := Options{}
	o.Array.Saving.Storage.ShardAxes = []int{0}
	o.Bivouac.LeafStorage = []LeafStorage{{Match: "a", Storage: Storage{ShardAxes: []int{1}}}}
	o.Multiprocessing.PrimaryHost = new(Host(1))
	got := Overlay(Options{}, o)
	got.Array.Saving.Storage.ShardAxes[0], got.Bivouac.LeafStorage[0].Storage.ShardAxes[0],
		*got.Multiprocessing.PrimaryHost = 7, 7, 7
	if o.Array.Saving.Storage.ShardAxes[0] != 0 || o.Bivouac.LeafStorage[0].Storage.ShardAxes[0] != 1 ||
		*o.Multiprocessing.PrimaryHost != 1 {
		t.Error("the result shares memory with its argument")
	}
}

func TestSpellings(t *testing.T) {
	opts := func(family CheckpointLayout, ocdbt, zarr3 Toggle, l Layout) Options {
		o := Options{CheckpointLayout: family}
		o.Array.Saving.UseOCDBT, o.Array.Saving.UseZarr3, o.Bivouac.Layout = ocdbt, zarr3, l
		return o
	}
	for _, c := range []struct {
		o    Options
		want Layout // DefaultLayout: a contradiction
	}{
		{Options{}, OCDBTZarr3},
		{Default(), OCDBTZarr3},
		{opts(0, On, On, 0), OCDBTZarr3},
		{opts(0, Inherit, Off, 0), OCDBTZarr2},
		{opts(0, Off, Inherit, 0), PlainZarr3},
		{opts(0, Off, Off, 0), PlainZarr2},
		{opts(Orbax, Off, Off, PlainZarr2), PlainZarr2},
		{opts(Auto, Inherit, Inherit, SafetensorsLayout), SafetensorsLayout},
		{opts(SafetensorsFile, On, On, 0), SafetensorsLayout},
		{opts(SafetensorsFile, Inherit, Inherit, SafetensorsLayout), SafetensorsLayout},
		{opts(0, Inherit, Inherit, OCDBTZarr2), OCDBTZarr2},
		{opts(0, On, Inherit, PlainZarr3), DefaultLayout},
		{opts(0, Inherit, Off, OCDBTZarr3), DefaultLayout},
		{opts(Orbax, Inherit, Inherit, SafetensorsLayout), DefaultLayout},
		{opts(SafetensorsFile, Inherit, Inherit, PlainZarr3), DefaultLayout},
		{opts(0, On, Inherit, SafetensorsLayout), DefaultLayout},
	} {
		got, err := c.o.StoredLayout()
		if got != c.want || (err == nil) != (c.want != DefaultLayout) || (c.o.Validate() == nil) != (err == nil) {
			t.Errorf("%v: %v, %v, want %v", c.o, got, err, c.want)
		}
	}
	for _, c := range []struct {
		use  Toggle
		c    Compression
		want Compression // DefaultCompression: a contradiction
	}{
		{Inherit, 0, Uncompressed}, {On, 0, Zstd}, {Off, 0, Uncompressed},
		{Inherit, ByteSplit, ByteSplit}, {On, ByteSplit, ByteSplit}, {On, Zstd, Zstd}, {Off, Uncompressed, Uncompressed},
		{Off, Zstd, 0}, {On, Uncompressed, 0},
	} {
		o := Options{}
		o.Array.Saving.UseCompression, o.Bivouac.Compression = c.use, c.c
		got, err := o.StoredCompression()
		if got != c.want || (err == nil) != (c.want != 0) || (o.Validate() == nil) != (err == nil) {
			t.Errorf("%v: %v, %v, want %v", o, got, err, c.want)
		}
	}
}

// Either spelling of an upper scope goes before either of a lower one.
func TestSpellingsOverScopes(t *testing.T) {
	zarr2, plain, st := Options{}, Options{}, Options{}
	zarr2.Array.Saving.UseZarr3 = Off
	plain.Bivouac.Layout = PlainZarr3
	st.Bivouac.Layout = SafetensorsLayout
	for _, c := range []struct {
		over, under Options
		want        Layout
	}{
		{plain, zarr2, PlainZarr3}, {zarr2, plain, PlainZarr2}, {st, zarr2, SafetensorsLayout}, {plain, st, PlainZarr3}, {zarr2, st, SafetensorsLayout},
	} {
		if got, err := Overlay(Overlay(c.over, c.under), Default()).StoredLayout(); err != nil || got != c.want {
			t.Errorf("%v over %v: %v, %v, want %v", c.over, c.under, got, err, c.want)
		}
	}
	on, off, split := Options{}, Options{}, Options{}
	on.Array.Saving.UseCompression, off.Array.Saving.UseCompression, split.Bivouac.Compression = On, Off, ByteSplit
	for _, c := range []struct {
		scopes []Options
		want   Compression
	}{
		{[]Options{on, Default()}, Zstd}, {[]Options{on, split}, ByteSplit}, {[]Options{off, split}, Uncompressed},
		{[]Options{split, off}, ByteSplit}, {[]Options{on, off, split}, Zstd},
	} {
		var o Options
		for _, s := range c.scopes {
			o = Overlay(o, s)
		}
		if got, err := o.StoredCompression(); err != nil || got != c.want {
			t.Errorf("%v: %v, %v, want %v", c.scopes, got, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for l := DefaultLayout; l <= OCDBTZarr3; l++ {
		text, err := l.MarshalText()
		var back Layout
		if err != nil || back.UnmarshalText(text) != nil || back != l.Known() {
			t.Errorf("layout %d: %q, %v, back %v", l, text, err, back)
		}
	}
	for c := DefaultCompression; c <= Uncompressed; c++ {
		text, err := c.MarshalText()
		var back Compression
		if err != nil || back.UnmarshalText(text) != nil || back != c.Known() {
			t.Errorf("compression %d: %q, %v, back %v", c, text, err, back)
		}
	}
	if _, err := Layout(9).MarshalText(); err == nil {
		t.Error("an unknown layout has a text")
	}
	if _, err := Compression(9).MarshalText(); err == nil {
		t.Error("an unknown compression has a text")
	}
	for _, name := range []string{"", "zarr", "Zarr3"} {
		if _, err := ParseLayout(name); err == nil {
			t.Errorf("layout %q", name)
		}
		if _, err := ParseCompression(name); err == nil {
			t.Errorf("compression %q", name)
		}
	}
}

// The names and defaults equal the real library's, except those listed.
func TestOrbaxHasTheseDefaults(t *testing.T) {
	b, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	var orbax struct{ Defaults map[string]any }
	if err := json.Unmarshal(b, &orbax); err != nil {
		t.Fatal(err)
	}
	differs := map[string]string{
		"array.saving.use_compression":             "on purpose",
		"array.saving.use_replica_parallel":        "None decides by the device",
		"array.saving.enable_pinned_host_transfer": "None decides by the device",
		"checkpointables.registry":                 "a value of Go",
		"file.path_class":                          "a value of Go",
		"array.saving.array_metadata_store":        "a class, here on or off",
	}
	ours := map[string]value{}
	walk(Default(), func(f field) bool {
		v := value{}
		if f.text && !f.value.IsZero() {
			v = encodeValue(f.value)
		}
		ours[f.name] = v
		return true
	})
	for name, want := range orbax.Defaults {
		got, ok := ours[name]
		if !ok {
			t.Errorf("Orbax's %s has no field", name)
			continue
		}
		wantText, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(appendJSON(nil, got)); (text == string(wantText)) == (differs[name] != "") {
			t.Errorf("%s: %s, in Orbax %s, differs: %q", name, text, wantText, differs[name])
		}
	}
}

// The table of the package comment has every option once, in order.
func TestTableHasEveryOption(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "here\n")
	var got, want []string
	for line := range strings.Lines(table) {
		f := strings.Fields(strings.TrimPrefix(line, "//"))
		if len(f) < 2 || !strings.HasPrefix(line, "//\t") {
			continue
		}
		got = append(got, f[0])
		if verdict := strings.TrimRight(f[1], ":;,"); !slices.Contains([]string{"acts", "nothing", "refused"}, verdict) {
			t.Errorf("%s: the verdict %q", f[0], verdict)
		}
	}
	walk(Options{}, func(f field) bool { want = append(want, f.name); return true })
	slices.Sort(got)
	slices.Sort(want)
	// The regulator's own fields are refused with it.
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
