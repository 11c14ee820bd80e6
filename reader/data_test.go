package reader_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// rows is a data set for tests: sample i has the numbers of i in several types. Every fifth sample
// fails if broken is set.
type rows struct {
	n      int64
	broken bool
}

func init() {
	params := []op.Parameter{
		{Name: "n", Type: op.Int, Required: true, Doc: "Number of samples."},
		{Name: "broken", Type: op.Bool, Default: false, Doc: "Every fifth sample fails."},
		{Name: "columns", Type: op.Strings, Doc: "Names."},
	}
	reader.Register(op.Schema{Name: "rows_of_a_test", Module: []string{"readers"}, Doc: "Rows.", Params: params,
		Outputs: []op.Port{{Name: "text"}, {Name: "label"}, {Name: "box"}, {Name: "missing"}, {Name: "column"}}},
		reader.Opener{
			Outputs: func(c *op.Config) ([]tensor.Spec, error) {
				specs := []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, {DType: tensor.Int64,
					Shape: tensor.Shape{}},
					{DType: tensor.Float32, Shape: tensor.Shape{-1, 2}}, {DType: tensor.Int16, Shape: tensor.Shape{}}}
				for range len(op.Get[[]string](c, "columns")) - 4 {
					specs = append(specs, tensor.Spec{DType: tensor.Uint64, Shape: tensor.Shape{1}})
				}
				return specs, nil
			},
			Open: func(_ context.Context, c *op.Config) (reader.Source, error) {
				return &rows{int64(op.Get[int](c, "n")), op.Get[bool](c, "broken")}, nil
			},
		})
}

func (r *rows) Info() reader.Info {
	return reader.Info{Format: "readers.rows_of_a_test", Samples: r.n, Fingerprint: fmt.Sprint(r.n)}
}
func (r *rows) Size(id int64) int64      { return id }
func (r *rows) Describe(id int64) string { return fmt.Sprintf("row %d of nothing", id) }
func (r *rows) Close() error             { return nil }

func (r *rows) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	for s, id := range ids {
		if r.broken && id%5 == 0 {
			dst.Fail(s, &errs.Error{Kind: errs.Corrupt, Got: "a broken row"})
			continue
		}
		text := dst.Out(0, s, int(id))
		for i := range text.Data {
			text.Data[i] = byte('a' + i%26)
		}
		label, _ := tensor.Of[int64](dst.Out(1, s))
		label[0] = -id
		box, _ := tensor.Of[float32](dst.Out(2, s, int(id%3), 2))
		for i := range box {
			box[i] = float32(id) + float32(i)/2
		}
		dst.Leave(3, s)
		for i := 4; i < len(dst.Binding().Out); i++ {
			v, _ := tensor.Of[uint64](dst.Out(i, s, 1))
			v[0] = math.MaxUint64 - uint64(id)
		}
	}
	return ctx.Err()
}

func openRows(t *testing.T, args op.Args) *reader.Data {
	t.Helper()
	d, err := reader.Open(context.Background(), "rows_of_a_test", args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestDecode(t *testing.T) {
	d := openRows(t, op.Args{"n": 10, "columns": []string{"text", "label", "box", "missing", "big"}})
	f, err := d.Sample(context.Background(), 4)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Text    string
		Label   int8
		Boxes   [][2]float32 `field:"box"`
		Any     [][]float64  `field:"box"`
		Missing *int
		Other   int `field:"missing,optional"`
		Big     uint64
		Not     func() `field:"-"`
	}
	got, err := reader.Decode[row](&f)
	if err != nil {
		t.Fatal(err)
	}
	want := row{"abcd", -4, [][2]float32{{4, 4.5}}, [][]float64{{4, 4.5}}, nil, 0, math.MaxUint64 - 4, nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("want %+v, got %+v", want, got)
	}
	type views struct {
		Text []byte
		Box  tensor.Tensor
		Big  *uint64
		Num  float32 `field:"label"`
	}
	v, err := reader.Decode[views](&f)
	if err != nil || string(v.Text) != "abcd" || v.Num != -4 || *v.Big != math.MaxUint64-4 ||
		v.Box.String() != "float32[1,2]" {
		t.Error(v, err)
	}
	if v.Text[0] = 'z'; f.Values[0].Data[0] != 'z' {
		t.Error("bytes are a copy")
	}
}

// The name of a Go field gives the name of the field.
func TestNamesOfFields(t *testing.T) {
	one := tensor.ScalarOf(int64(1))
	f := reader.Fields{Names: []string{"a", "image_id", "segment_ids", "url_of_page", "loss2_mask", "x_y"},
		Values: []tensor.Tensor{one, one, one, one, one, one}}
	if _, err := reader.Decode[struct{ A, ImageID, SegmentIDs, URLOfPage, Loss2Mask, X_Y int }](&f); err != nil {
		t.Error(err)
	}
}

// Each error names the data set, the sample, the field, what is wanted and what was found.
func TestDecodeErrors(t *testing.T) {
	d := openRows(t, op.Args{"n": 1000, "columns": []string{"text", "label", "box", "missing", "big"}})
	f, err := d.Sample(context.Background(), 300)
	if err != nil {
		t.Fatal(err)
	}
	fail := func(err error, kind errs.Kind, words ...string) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("want %v, got %v", kind, err)
			return
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("want %q in: %v", w, err)
			}
		}
	}
	where := []string{"readers.rows_of_a_test", "sample 300", "row 300 of nothing"}
	with := func(words ...string) []string { return append(words, where...) }
	_, err = reader.Decode[struct{ Label int8 }](&f)
	fail(err, errs.Mismatch, with("field label", "int8", "int64 -300")...)
	_, err = reader.Decode[struct{ Label uint }](&f)
	fail(err, errs.Mismatch, with("uint")...)
	_, err = reader.Decode[struct{ Big float64 }](&f)
	fail(err, errs.Mismatch, with("field big", "float64")...)
	_, err = reader.Decode[struct{ Text int }](&f)
	fail(err, errs.Mismatch, with("one number", "uint8[300]")...)
	_, err = reader.Decode[struct{ Label string }](&f)
	fail(err, errs.Mismatch, with("bytes, uint8[n], for a string", "int64[]")...)
	_, err = reader.Decode[struct{ Box []float32 }](&f)
	fail(err, errs.Mismatch, with("1 axes", "float32[0,2]")...)
	_, err = reader.Decode[struct {
		Box [3][2]float32
	}](&f)
	fail(err, errs.Mismatch, with("3 elements")...)
	_, err = reader.Decode[struct{ Lable int }](&f)
	fail(err, errs.NotFound, with(`did you mean "label"?`)...)
	_, err = reader.Decode[struct{ Missing int }](&f)
	fail(err, errs.NotFound, with("want a value, got none in this sample")...)
	_, err = reader.Decode[int](&f)
	fail(err, errs.Mismatch, with("a sample of one field")...)
	_, err = reader.Decode[struct {
		Text string `field:"text,omitempty"`
	}](&f)
	fail(err, errs.Invalid, "optional", "omitempty")
	_, err = reader.Decode[struct{ Text chan int }](&f)
	fail(err, errs.Invalid, "chan int")
	one := reader.Fields{Names: []string{"x"}, Values: []tensor.Tensor{tensor.ScalarOf(float32(1.5))}}
	if x, err := reader.Decode[float64](&one); x != 1.5 || err != nil {
		t.Error(x, err)
	}
	_, err = reader.Decode[int](&one)
	fail(err, errs.Mismatch, "field x", "float32 1.5")
	two := one.With("y", tensor.ScalarOf(int64(1)<<53+1))
	if len(one.Names) != 1 || len(two.Names) != 2 {
		t.Error("With changed the sample")
	}
	_, err = reader.Decode[struct{ Y float64 }](&two)
	fail(err, errs.Mismatch, "9007199254740993")
	if y, err := reader.Decode[struct{ Y int64 }](&two); err != nil || y.Y != 1<<53+1 {
		t.Error(y, err)
	}
}

// Samples that fail have no values; the others are read, and the error names each.
func TestReadNamesFailedSamples(t *testing.T) {
	d := openRows(t, op.Args{"n": 12, "broken": true, "columns": []string{}})
	ids, dst := []int64{4, 5, 6, 10}, make([]reader.Fields, 4)
	for range 2 {
		err := d.Read(context.Background(), ids, dst)
		for _, want := range []string{"sample 5, row 5", "sample 10, row 10", "a broken row"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		}
		for s, ok := range []bool{true, false, true, false} {
			if v, has := dst[s].Get("text"); has != ok || ok && len(v.Data) != int(ids[s]) {
				t.Errorf("sample %d: %v %v", ids[s], v, has)
			}
		}
	}
	if _, err := d.Sample(context.Background(), 12); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(),
		"an id from 0 to 11") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Sample(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.Limits.MaxBytes = 4
	if _, err := d.Sample(context.Background(), 9); !errors.Is(err, errs.Exhausted) || !strings.Contains(err.Error(),
		"sample 9") {
		t.Error(err)
	}
	if names := d.Names(); !cmp.Equal(names, []string{"text", "label", "box", "missing"}) {
		t.Error(names)
	}
}

// A reused Fields takes no memory, and reading from many goroutines gives the same.
func TestReadReusesMemory(t *testing.T) {
	d := openRows(t, op.Args{"n": 1000, "columns": []string{}})
	ids, dst := []int64{900, 30}, make([]reader.Fields, 2)
	read := func() {
		if err := d.Read(context.Background(), ids, dst); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 && !raceDetector { // which drops what pools hold
		t.Errorf("%v allocations a call", n)
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			var list [1]reader.Fields
			for i := range int64(200) {
				id := (i*7 + int64(g)) % 1000
				if err := d.Read(context.Background(), []int64{id}, list[:]); err != nil {
					t.Error(err)
				}
				v, err := reader.Decode[struct {
					Text  string
					Label int
				}](&list[0])
				if err != nil || len(v.Text) != int(id) || v.Label != -int(id) {
					t.Error(id, v, err)
				}
			}
		})
	}
	group.Wait()
}

func TestOpenReadsFiles(t *testing.T) {
	dir := t.TempDir()
	for i, class := range []string{"cats", "dogs"} {
		for k := range 2 {
			writeText(t, filepath.Join(dir, class, fmt.Sprintf("%d.png", k)), fmt.Sprint("picture ", i, k))
		}
	}
	name, args, err := reader.Detect(context.Background(), []string{dir})
	if err != nil || name != "readers.file" {
		t.Fatal(name, err)
	}
	d, err := reader.Open(context.Background(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Sample(context.Background(), 3)
	if err != nil {
		t.Fatal(err)
	}
	v, err := reader.Decode[struct {
		Files  string
		Labels int
	}](&f)
	if err != nil || v.Files != "picture 1 1" || v.Labels != 1 {
		t.Error(v, err)
	}
	for name, want := range map[string]string{"fiel": `did you mean "file"?`, "readers.fiel": "readers.file",
		"decoders.image": "a name that no reader has"} {
		if _, err := reader.Open(context.Background(), name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", name, want, err)
		}
	}
	if _, err := reader.Open(context.Background(), "file", op.Args{"file_roots": "x"}); err == nil ||
		!strings.Contains(err.Error(), "file_root") {
		t.Error(err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a-00.tar", "a-01.tar", "a-02.tar", "a-00.idx", ".hidden", "bivouac.index",
		"README.md", "b/x.jsonl"} {
		writeText(t, filepath.Join(dir, name), "")
	}
	for pattern, want := range map[string][]string{
		"":               {"a-00.tar", "a-01.tar", "a-02.tar"},
		"a-*.tar":        {"a-00.tar", "a-01.tar", "a-02.tar"},
		"a-{01..02}.tar": {"a-01.tar", "a-02.tar"},
		"a-{02,00}.tar":  {"a-02.tar", "a-00.tar"},
		"*":              {"a-00.tar", "a-01.tar", "a-02.tar", "b"},
		"a-00.idx":       {"a-00.idx"},
	} {
		got, err := reader.Expand(context.Background(), []string{filepath.Join(dir, pattern)})
		for i := range got {
			got[i], _ = filepath.Rel(dir, got[i])
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", pattern, diff, err)
		}
	}
	for pattern, kind := range map[string]errs.Kind{"no*": errs.NotFound, "none.tar": errs.NotFound,
		"a-{2..1}.tar": errs.Invalid,
		"a-{x..y}":     errs.Invalid, "a-{0..99999999}": errs.Invalid, "[": errs.Invalid} {
		if _, err := reader.Expand(context.Background(), []string{filepath.Join(dir, pattern)}); !errors.Is(err, kind) {
			t.Errorf("%s: want %v, got %v", pattern, kind, err)
		}
	}
	if _, err := reader.Expand(context.Background(), []string{"s3://bucket/x"}); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	if _, err := reader.Expand(context.Background(), nil); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// Detect knows formats by name and content, and says what is missing.
func TestDetect(t *testing.T) {
	reader.RegisterFormat(reader.Format{Reader: "readers.rows_of_a_test", Suffixes: []string{".rowfile"},
		Detect: func(_ string, head []byte) bool { return string(head) == "rows" },
		Args:   func(paths []string) op.Args { return op.Args{"n": len(paths)} }})
	reader.RegisterFormat(reader.Format{Reader: "readers.unlinked_of_a_test", Suffixes: []string{".unlinked"},
		Import: "example.org/unlinked"})
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"a.rowfile": "", "noname": "rows", "b.unlinked": "", "strange": "?",
		"p.png": ""} {
		writeText(t, at(name), text)
	}
	name, args, err := reader.Detect(context.Background(), []string{at("a.rowfile"), at("noname")})
	if err != nil || name != "readers.rows_of_a_test" || args["n"] != 2 {
		t.Error(name, args, err)
	}
	for path, want := range map[string]string{"b.unlinked": `import _ "example.org/unlinked"`,
		"strange": "a file of a known format"} {
		if _, _, err := reader.Detect(context.Background(), []string{at(path)}); !errors.Is(err, errs.Unsupported) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := reader.Detect(context.Background(), []string{at("a.rowfile"), at("p.png")}); !errors.Is(err,
		errs.Mismatch) {
		t.Error(err)
	}
	if _, err := reader.Open(context.Background(), "unlinked_of_a_test", nil); !errors.Is(err, errs.Unsupported) ||
		!strings.Contains(err.Error(), "example.org") {
		t.Error(err)
	}
	name, args, err = reader.Detect(context.Background(), []string{at("p.png")})
	if err != nil || name != "readers.file" || !cmp.Equal(args, op.Args{"files": []string{at("p.png")}}) {
		t.Error(name, args, err)
	}
	if _, err := reader.PathArgs(context.Background(), "rows_of_a_test", []string{at("p.png")}); err != nil {
		t.Error(err)
	}
}

// Without the package of tokenizers the error names it.
func TestTokenizerThatIsNotLinked(t *testing.T) {
	_, err := reader.OpenTokenizer("t.json")
	if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(),
		`import _ "github.com/bivouac-ml/bivouac/reader/tokenizer"`) {
		t.Error(err)
	}
}
