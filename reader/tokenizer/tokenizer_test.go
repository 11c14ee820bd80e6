package tokenizer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
)

// lists reads lists that proof/tokenizers/make.py wrote.
func lists(t testing.TB, name string, element int) (all [][]byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		n := int(binary.LittleEndian.Uint32(b)) * element
		all, b = append(all, b[4:4+n]), b[4+n:]
	}
	return all
}

func names(t testing.TB) (list []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.ids")
	if err != nil || len(files) == 0 {
		t.Fatal("no ids in testdata", err)
	}
	for _, f := range files {
		list = append(list, strings.TrimSuffix(filepath.Base(f), ".ids"))
	}
	return list
}

// tokenizers 0.23.3 gave the same ids, also when several goroutines share a tokenizer.
func TestIDsAreEqual(t *testing.T) {
	documents := lists(t, "documents.bin", 1)
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			k, err := Open(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			want := lists(t, name+".ids", 4)
			if len(want) != len(documents) {
				t.Fatalf("%d lists of ids, %d documents", len(want), len(documents))
			}
			var group sync.WaitGroup
			for g := range 3 {
				group.Go(func() {
					var ids []int32
					for i := g; i < len(documents); i += 2 {
						var err error
						if ids, err = k.Encode(documents[i], append(ids[:0], 7)); err != nil {
							t.Error(err)
							return
						}
						got := make([]byte, 0, 4*len(ids))
						for _, id := range ids[1:] {
							got = binary.LittleEndian.AppendUint32(got, uint32(id))
						}
						if !bytes.Equal(got, want[i]) {
							t.Errorf("%q: %v", documents[i], ids[1:])
						}
					}
				})
			}
			group.Wait()
		})
	}
}

// small is a tokenizer of four letters.
const small = `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":6,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},
"post_processor":{"type":"BertProcessing","sep":["<s>",6],"cls":["<s>",6]},"decoder":null,
"model":{"type":"BPE","dropout":null,"unk_token":"u","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,
"byte_fallback":false,"ignore_merges":false,"vocab":{"u":0,"a":1,"b":2,"ab":3,"c":4,"abc":5},"merges":[["a","b"],["ab","c"]]}}`

func encode(t *testing.T, file, text string) []int32 {
	t.Helper()
	k, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := k.Encode([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestSmall(t *testing.T) {
	for text, want := range map[string][]int32{
		"":          {6, 6},
		"abc":       {6, 5, 6},
		" cab  x ":  {6, 4, 3, 0, 6},
		"ab<s>abca": {6, 3, 6, 5, 1, 6},
		"é":         {6, 0, 6},
	} {
		if got := encode(t, small, text); !slices.Equal(got, want) {
			t.Errorf("%q: want %v, got %v", text, want, got)
		}
	}
	truncated := strings.Replace(small, `"truncation":null`,
		`"truncation":{"direction":"DIRECTION","max_length":4,"strategy":"LongestFirst","stride":0}`, 1)
	for direction, want := range map[string][]int32{"Right": {6, 1, 2, 6}, "Left": {6, 4, 2, 6}} {
		file := strings.Replace(truncated, "DIRECTION", direction, 1)
		if got := encode(t, file, "a b c b"); !slices.Equal(got, want) {
			t.Errorf("%s: want %v, got %v", direction, want, got)
		}
	}
}

// What is not known is an error of kind errs.Unsupported that names it; a damaged file is refused.
func TestUnknownIsRefused(t *testing.T) {
	for _, c := range []struct{ old, by, want string }{
		{`"version":"1.0"`, `"version":"2.0"`, "version"},
		{`"padding":null`, `"padding":{"strategy":"BatchLongest"}`, "padding"},
		{`"normalizer":null`, `"normalizer":{"type":"Precompiled","precompiled_charsmap":"AA=="}`, "a trie and texts"},
		{`"normalizer":null`, `"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"}]}`, "Nmt"},
		{`"normalizer":null`, `"normalizer":{"type":"NFC","more":1}`, "more"},
		{`"normalizer":null`, `"normalizer":{"type":"Replace","pattern":{"Regex":"^a"},"content":""}`, "an anchor"},
		{`"normalizer":null`, `"normalizer":{}`, "a type"},
		{`{"type":"WhitespaceSplit"}`, `{"type":"UnicodeScripts"}`, "UnicodeScripts"},
		{`{"type":"WhitespaceSplit"}`, `{"type":"Split","pattern":{"Regex":"a"},"behavior":"Other","invert":false}`,
			"Other"},
		{`{"type":"WhitespaceSplit"}`,
			`{"type":"Split","pattern":{"Regex":"\\p{Gothic}"},"behavior":"Removed","invert":false}`, "Gothic"},
		{`"BertProcessing"`, `"Other"`, "Other"},
		{`"dropout":null`, `"dropout":0.1`, "dropout"},
		{`"type":"BPE"`, `"type":"Other"`, "Other"},
		{`"type":"BPE"`, `"type":"BPE","new_setting":1`, "new_setting"},
		{`"unk_token":"u"`, `"unk_token":"v"`, `unk_token "v"`},
		{`["ab","c"]`, `["ab","d"]`, "merge 1"},
		{`["ab","c"]`, `["ab"]`, "merge 1"},
		{`"abc":5`, `"abc":4`, "an id of its own"},
		{`"id":6`, `"id":9`, "the id 6"},
		{`"truncation":null`, `"truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0}`,
			"truncation"},
		{`{"version"`, `{"other":1,"version"`, "other"},
		{small, `{`, "tokenizer.json"},
		{small, ``, "tokenizer.json"},
	} {
		file := strings.Replace(small, c.old, c.by, 1)
		_, err := Parse([]byte(file))
		if k := errs.KindOf(err); k != errs.Unsupported && k != errs.Corrupt || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want %q, got %v", c.by, c.want, err)
		}
	}
	if _, err := Open("testdata/none.json"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	k, err := Parse([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := k.Encode([]byte("ab\xff"), []int32{1})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "another byte at 2") || len(ids) != 1 {
		t.Error(ids, err)
	}
}

// The package is what dataset.Open finds by its registration.
func TestRegistered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	k, err := reader.OpenTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(small)); err != nil {
		t.Fatal(err)
	}
	same, err := Parse(compact.Bytes())
	if err != nil || same.Fingerprint() != k.Fingerprint() {
		t.Error("white space changes the fingerprint", err)
	}
	other, err := Parse([]byte(strings.Replace(small, `"fuse_unk":false`, `"fuse_unk":true`, 1)))
	if err != nil || other.Fingerprint() == k.Fingerprint() {
		t.Error("another tokenizer has the same fingerprint", err)
	}
}

// Expressions match as in Oniguruma.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		want       []string
	}{
		{`a|ab`, "abab", []string{"a", "a"}},
		{`(?:ab|a)(?=c)`, "abcac", []string{"ab", "a"}},
		{`a{2,3}`, "aaaaa", []string{"aaa", "aa"}},
		{`a{2}?`, "aaa", nil},
		{`a+?b`, "aaab", []string{"aaab"}},
		{`a*?`, "aa", []string{"", "", ""}},
		{`x*`, "axb", []string{"", "x", ""}},
		{`a++a`, "aaa", nil},
		{`(?>a+)a`, "aaa", nil},
		{`(?<!a)b`, "abb", []string{"b"}},
		{`(?<=a)b`, "abb", []string{"b"}},
		{`\s+(?!\S)|\s+`, "a   b ", []string{"  ", " ", " "}},
		{`(?i:'S)`, "'s'S'ſ's", []string{"'s", "'S", "'ſ", "'s"}},
		{`[^\s\p{L}]+`, "a1-2 b", []string{"1-2"}},
		{`[a-c[x]&]+`, "abx&d", []string{"abx&"}},
		{`[\x{4e00}-\x{9fff}]`, "a一", []string{"一"}},
		{`\u4e00`, "一", []string{"一"}},
		{`\p{^L}`, "a1", []string{"1"}},
		{`\P{L}|\.`, "a.", []string{"."}},
		{`(a|b)*c`, "ababc", []string{"ababc"}},
		{`(?:)`, "ab", []string{"", "", ""}},
		{`.`, "a\n", []string{"a"}},
	} {
		p, err := compile(c.expr)
		if c.want == nil && err != nil {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		var got []string
		p.each(c.text, func(start, end int) { got = append(got, c.text[start:end]) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s in %q: %s", c.expr, c.text, diff)
		}
	}
	for _, expr := range []string{"(", ")", "a**", "*", "[", "[]", "[a", `\p{`, `\q`, `a{`, `a{9999}`, `(?<n>a)`, `\b`,
		"$", `(?i:ss)`, `[[:alpha:]]`,
		`[a&&b]`, `\`, `[z-a]`, strings.Repeat("(", 200), `(?<=ab)c`, `\xff`, `\u12`, `[]a]`} {
		if _, err := compile(expr); !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: want an error, got %v", expr, err)
		}
	}
}

// A search that would not end in time is an error.
func TestEndlessSearch(t *testing.T) {
	file := strings.Replace(small, `{"type":"WhitespaceSplit"}`,
		`{"type":"Split","pattern":{"Regex":"(?:a|a|b?)*c"},"behavior":"Removed","invert":false}`, 1)
	k, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := k.Encode([]byte(strings.Repeat("a", 100)), []int32{3})
	if !errors.Is(err, errs.Exhausted) || len(ids) != 1 || !strings.Contains(err.Error(), "100 bytes") {
		t.Error(ids, err)
	}
	if ids, err := k.Encode([]byte("b"), nil); err != nil || len(ids) != 3 {
		t.Error(ids, err)
	}
}

// Scores are read as the tokenizers of Hugging Face read them: the digits are rounded, and then the
// quotient.
func TestScores(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "-1.5": -1.5, "2.5e2": 250, "1E-2": 0.01, "0.1": 0.1, "-0.0": 0,
		"1e-400":             0,
		"9007199254740993.0": 9007199254740994, "-7.5e-310": -7.5e-310, "18446744073709551616": 18446744073709551610,
		"-9.123456789012345678901": -9.123456789012345678} {
		if got, ok := rustFloat(text); !ok || got != want {
			t.Errorf("%s: want %v, got %v", text, want, got)
		}
	}
	for _, text := range []string{"", "null", `"1"`, "1e400", "1e309", "x"} {
		if got, ok := rustFloat(text); ok {
			t.Errorf("%s is %v", text, got)
		}
	}
	differ := 0
	for i := range 1000 {
		text := fmt.Sprintf("-1%d.%015d", i%10, uint64(i)*7919*104729*31%1e15)
		near, err := strconv.ParseFloat(text, 64)
		got, ok := rustFloat(text)
		if err != nil || !ok || math.Abs(got-near) > 4e-15 {
			t.Errorf("%s: %v, near %v", text, got, near)
		}
		if got != near {
			differ++
		}
	}
	if differ == 0 {
		t.Error("all numbers are rounded once")
	}
}

// Long sequences of marks are ordered and composed without a joiner.
func TestNormalForms(t *testing.T) {
	marks := strings.Repeat("\u0316\u0301", 40)
	if got := normalForm("a"+marks, false, true); !strings.HasPrefix(got, "\u00e1\u0316\u0316") ||
		strings.ContainsRune(got, 0x34f) {
		t.Errorf("%+q", got)
	}
	for text, want := range map[string]string{"각": "각", "가\u11a8": "각", "\u1100\u1161": "가", "ﬁ": "ﬁ", "Å": "Å",
		"\u0344": "\u0308\u0301", "क़": "क\u093c"} {
		if got := normalForm(text, false, true); got != want {
			t.Errorf("%+q: want %+q, got %+q", text, want, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small), []byte("ab <s>"))
	f.Fuzz(func(t *testing.T, file, text []byte) {
		if len(file) > 1<<16 || len(text) > 1<<10 {
			return
		}
		k, err := Parse(file)
		if err != nil {
			return
		}
		a, err := k.Encode(text, nil)
		if err != nil {
			return
		}
		b, err := k.Encode(text, nil)
		if err != nil || !slices.Equal(a, b) {
			t.Error("the second call has other tokens", err)
		}
	})
}

// FuzzPattern checks that expressions of any kind end, and that matches do not overlap.
func FuzzPattern(f *testing.F) {
	f.Add(gpt2, "it's 12  x\n")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 40 || len(text) > 8 {
			return
		}
		p, err := compile(expr)
		if err != nil {
			return
		}
		at := 0
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(tooLong); !ok {
					panic(r)
				}
			}
		}()
		p.each(text, func(start, end int) {
			if start < at || end < start || end > len(text) {
				t.Fatalf("%d to %d after %d", start, end, at)
			}
			at = end
		})
	})
}
