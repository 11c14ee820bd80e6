package conform

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/dali"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// idleArguments are the arguments that change no recorded result: "operator.argument", or the
// operator alone if all are. The document says why.
var idleArguments = []string{
	"_arithmetic_generic_op", "_subscript_dim_check", "_tensor_subscript", // an expression makes them
	"batch_permutation._scope", "clahe.bins", "color_twist.image_type", "decoders.image_crop.crop_d", "decoders.image_crop.crop_pos_z",
	"decoders.numpy.dtype", "dump_image.input_layout", "hue.image_type", "saturation.image_type",
}

// TestOperatorArgumentsAct: each operator of DALI has cases enough in testdata/dali, and for each
// of its arguments a case fails without it; or the argument is one of idleArguments, which change
// nothing, and the document says so.
func TestOperatorArgumentsAct(t *testing.T) {
	uses, err := dali.Uses(suite.WithScratch(t.Context(), t.TempDir()), committedDali)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	listed := fewCases(t)
	var idle []string
	for _, s := range op.Schemas() {
		name := s.FullName()
		if n, few := listed[name]; s.Reader || dali.Current(name) != name || few && n == 0 {
			continue
		}
		u := uses[name]
		if u == nil || u.Cases < enoughCases {
			t.Errorf("%s: fewer than %d cases pass: %+v", name, enoughCases, u)
			continue
		}
		for _, arg := range u.Idle(s) {
			full := name + "." + arg
			if slices.Contains(idleArguments, name) {
				full = name
			}
			idle = append(idle, full)
			if !slices.Contains(idleArguments, full) {
				t.Errorf("%s: no recorded case shows what it does", full)
			}
			row := fmt.Sprintf("(?m)^\\|[^|]*`%s`[^|]*\\|[^|]*`%s`", regexp.QuoteMeta(arg), regexp.QuoteMeta(name))
			if full != name && !regexp.MustCompile(row).Match(page) {
				t.Errorf("%s does not list %s among the arguments of operators without effect", daliDocument, full)
			}
		}
	}
	for _, full := range idleArguments {
		if !slices.Contains(idle, full) {
			t.Errorf("%s changes a recorded result, or is not there", full)
		}
	}
}

// TestArgumentsOfOlderNamesAct: the cases under older names show by themselves what each argument
// does.
func TestArgumentsOfOlderNamesAct(t *testing.T) {
	dir := alteredDali(t, "ops/older/cases.json", "", "")
	uses, err := dali.Uses(suite.WithScratch(t.Context(), t.TempDir()), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"coin_flip", "uniform", "normal_distribution", "transform_translation"} {
		s, err := op.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		u := uses[dali.Current(name)]
		if u == nil || u.Cases < enoughCases {
			t.Fatalf("%s: fewer than %d cases pass: %+v", name, enoughCases, u)
		}
		if idle := u.Idle(s); len(idle) > 0 {
			t.Errorf("%s: no recorded case shows what %q do", name, idle)
		}
		for _, arg := range []string{"preserve", "bytes_per_sample_hint"} {
			if !u.Set[arg] {
				t.Errorf("%s: no recorded case gives %s", name, arg)
			}
		}
	}
}

// The command prints what the test judges.
func TestArgumentsArePrinted(t *testing.T) {
	dir := alteredDali(t, "ops/crop/cases.json", "", "")
	var out, wrong bytes.Buffer
	if code := Run([]string{"-suite", "dali", "-arguments", dir}, &out, &wrong); code != 0 {
		t.Fatal(code, wrong.String())
	}
	crop := regexp.MustCompile(`(?m)^crop: (\d+) cases, \d+ arguments; .*output_dtype in no case`)
	if !crop.MatchString(out.String()) || strings.Contains(out.String(), "readers.file") {
		t.Errorf("%s", out.String())
	}
	code := Run([]string{"-suite", "dali", "-arguments", t.TempDir()}, &out, &wrong)
	if code != 1 || !strings.Contains(wrong.String(), "tolerances.json") {
		t.Errorf("exit %d: %s", code, wrong.String())
	}
}
