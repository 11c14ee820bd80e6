package main

import (
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/recipes"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pictureSet makes a folder of class folders with pictures of a size each.
func pictureSet(t *testing.T, sizes ...image.Point) string {
	t.Helper()
	dir := t.TempDir()
	for i, size := range sizes {
		img := image.NewRGBA(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				img.SetRGBA(x, y, color.RGBA{uint8(x * 9), uint8(y * 9), uint8(80 * i), 255})
			}
		}
		folder := filepath.Join(dir, string(rune('a'+i)))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(folder, "p.png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, img); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readPNG(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Every recipe is listed with what it says, and is printed unchanged.
func TestRecipesAreListed(t *testing.T) {
	code, out, _ := dataCommand(context.Background(), "recipe", "--json")
	var list []recipeInfo
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitOK || len(list) != len(recipes.Names()) {
		t.Fatalf("%d %v %s", code, err, out)
	}
	_, plain, _ := dataCommand(context.Background(), "recipe")
	for i, name := range recipes.Names() {
		if list[i].Name != name || list[i].About == "" || list[i].Text != "" || !strings.Contains(plain, name+"  ") {
			t.Errorf("%+v", list[i])
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "recipes", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		code, out, stderr := dataCommand(context.Background(), "recipe", name)
		if code != exitOK || out != string(want) {
			t.Errorf("%s: %d %s", name, code, stderr)
		}
	}
}

// Samples go through a recipe several times, and the numbers of a program are the printed ones.
func TestRecipeOfPictures(t *testing.T) {
	dir := pictureSet(t, image.Pt(20, 30), image.Pt(30, 24), image.Pt(28, 28))
	sheet := filepath.Join(t.TempDir(), "sheet.png")
	args := []string{"recipe", "torchvision-train-rand", dir, "--set", "size=16", "--samples", "2",
		"--times", "3", "--seed", "4", "--cell", "16"}
	code, out, stderr := dataCommand(context.Background(), append(args, "--json", "-o", sheet)...)
	var got recipeRun
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK {
		t.Fatalf("%d %v %s %s", code, err, out, stderr)
	}
	if len(got.Samples) != 2 || got.Columns["files"] != "files" || got.Sheet != sheet || got.Seed != 4 {
		t.Fatalf("%+v", got)
	}
	seen := map[string]bool{}
	for _, s := range got.Samples {
		if len(s.Results) != 3 || !strings.Contains(s.From, "p.png") {
			t.Fatalf("%+v", s)
		}
		for _, outputs := range s.Results {
			o := outputs[0]
			if o.Name != "images" || o.DType != "float32" || o.Layout != "CHW" || len(o.Shape) != 3 || o.Shape[1] != 16 ||
				!(o.Least < o.Mean && o.Mean < o.Most) || seen[o.SHA256] {
				t.Errorf("%+v", o)
			}
			seen[o.SHA256] = true
		}
	}
	if b := readPNG(t, sheet).Bounds(); b.Dx() != 4*18-2 || b.Dy() != 2*18-2 {
		t.Errorf("a sheet of %v", b)
	}
	_, plain, _ := dataCommand(context.Background(), args...)
	if strings.Count(plain, " CHW  ") != 6 || strings.Count(plain, "images  float32") != 6 {
		t.Errorf("%s", plain)
	}
	for hash := range seen {
		if !strings.Contains(plain, hash[:16]) {
			t.Errorf("%s is not in %s", hash, plain)
		}
	}
	code, _, stderr = dataCommand(context.Background(), append(args, "-o", sheet)...)
	if code != exitFailure || !strings.Contains(stderr, "exists") {
		t.Errorf("the sheet is there: %d %s", code, stderr)
	}
	if code, _, _ := dataCommand(context.Background(), append(args, "--samples", "99")...); code != exitOK {
		t.Errorf("more samples than there are: %d", code)
	}
}

// Partners are the next sample, and the last one takes the first. A recipe of a file says which
// input has no column.
func TestRecipeOfPartners(t *testing.T) {
	same := pictureSet(t, image.Pt(8, 8), image.Pt(8, 8))
	args := []string{"recipe", "torchvision-mixup", same, "--set", "alpha=1000"}
	code, _, stderr := dataCommand(context.Background(), args...)
	if code == exitOK || !strings.Contains(stderr, "--classes") {
		t.Errorf("numbers of classes: %d %s", code, stderr)
	}
	code, out, stderr := dataCommand(context.Background(), append(args, "--classes", "2", "--json", "--times", "1")...)
	var got recipeRun
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Samples) != 2 {
		t.Fatalf("%d %v %s", code, err, stderr)
	}
	for _, s := range got.Samples { // of half and half
		if labels := s.Results[0][1]; labels.Elements != 2 || labels.Least < 0.3 || labels.Most > 0.7 {
			t.Errorf("%+v", labels)
		}
	}
	if code, _, stderr := dataCommand(context.Background(), append(args, "--classes", "1")...); code != exitUsage ||
		!strings.Contains(stderr, "raise --classes") {
		t.Errorf("class 1 of 1: %d %s", code, stderr)
	}
	code, _, stderr = dataCommand(context.Background(), "recipe", "torchvision-cutmix",
		pictureSet(t, image.Pt(8, 8), image.Pt(9, 8)), "--classes", "2")
	if code != exitCorrupt || !strings.Contains(stderr, "resize both to one size") {
		t.Errorf("pictures of two sizes: %d %s", code, stderr)
	}
	folder := t.TempDir()
	recipe := "inputs: [files, boxes]\nsteps:\n" +
		"  - {name: images, op: decoders.image, of: files}\noutputs: [images, boxes]\n"
	own := filepath.Join(folder, "own.yaml")
	if err := os.WriteFile(own, []byte(recipe), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, stderr = dataCommand(context.Background(), "recipe", own)
	if code != exitOK || out != recipe {
		t.Errorf("%d %s %s", code, out, stderr)
	}
	code, _, stderr = dataCommand(context.Background(), "recipe", own, same)
	if code != exitUsage || !strings.Contains(stderr, "input boxes") || !strings.Contains(stderr, "--input boxes=COLUMN") {
		t.Errorf("no boxes: %d %s", code, stderr)
	}
}

// Mistakes name what is known and suggest the nearest.
func TestRecipeMistakes(t *testing.T) {
	dir := pictureSet(t, image.Pt(8, 8))
	empty := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"torchvision-train-rnd", exitNotFound, `did you mean "torchvision-train-rand"?`},
		{"mixup", exitNotFound, `did you mean "torchvision-mixup"?`},
		{"nothing-like-it", exitNotFound, "torchvision-eval"},
		{"own.yaml", exitNotFound, "own.yaml"},
		{"timm-eval --seed 1", exitUsage, "want a data set"},
		{"timm-eval DIR --set siz=3", exitUsage, `did you mean "size"?`},
		{"timm-eval DIR --set size", exitUsage, "want NAME=VALUE"},
		{"timm-eval DIR --set size=", exitUsage, "want a value"},
		{"timm-eval DIR --set size={a: 1}", exitUsage, "a bool, a number"},
		{"timm-eval DIR --set size=large", exitUsage, "large"},
		{"timm-eval DIR --input file=files", exitUsage, `did you mean "files"?`},
		{"timm-eval DIR --input files=file", exitUsage, `did you mean "files"?`},
		{"timm-eval DIR --input files=labels", exitCorrupt, "want the bytes of a picture"},
		{"timm-eval DIR --cell 2", exitUsage, "at least 8"},
		{"timm-eval DIR --samples 0", exitUsage, "at least 1"},
		{"timm-eval nowhere", exitNotFound, "nowhere"},
		{"timm-eval EMPTY", 0, ""},
	} {
		words := []string{"recipe"}
		for i, word := range strings.SplitN(c.args, " ", 4) {
			if i == 1 && word == "DIR" {
				word = dir
			}
			if word == "EMPTY" {
				word = empty
			}
			words = append(words, word)
		}
		code, _, stderr := dataCommand(context.Background(), words...)
		if c.want == "" {
			if code == exitOK || stderr == "" {
				t.Errorf("%s: %d %s", c.args, code, stderr)
			}
			continue
		}
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d %s", c.args, code, stderr)
		}
	}
}

// A frame lies at the edges of its box, masks have colours, and floats are stretched.
func TestSheetCells(t *testing.T) {
	drawn := image.NewRGBA(image.Rect(0, 0, 16, 16))
	frame(drawn, 0, 0, 16, 16, []float32{0.25, 0.5, 1, 2})
	red := color.RGBA{255, 0, 0, 255}
	for y := range 16 {
		for x := range 16 {
			want := x >= 4 && y >= 8 && (x == 4 || x == 15 || y == 8 || y == 15)
			if (drawn.RGBAAt(x, y) == red) != want {
				t.Errorf("%d, %d: %v", x, y, drawn.RGBAAt(x, y))
			}
		}
	}
	picture, mask := tensor.New(tensor.Uint8, 4, 8, 3), tensor.New(tensor.Uint8, 4, 8, 1)
	picture.Layout, mask.Layout = "HWC", "HWC"
	boxes := tensor.FromSlice([]float32{0, 0, 1, 1}, 1, 4)
	s := &sheet{names: []string{"images", "masks", "boxes", "labels"}, cell: 16}
	list := s.cells(&sheetRow{after: [][]tensor.Tensor{{picture, mask, boxes, tensor.FromSlice([]int32{1})}}})
	if len(list) != 2 || len(list[0].boxes) != 4 || list[0].mask || !list[1].mask {
		t.Errorf("%+v", list)
	}
	list[0].draw(drawn, 0, 0, 16) // 16 x 8 pixels
	if drawn.RGBAAt(0, 0) != red || drawn.RGBAAt(15, 7) != red || drawn.RGBAAt(1, 1) != (color.RGBA{0, 0, 0, 255}) {
		t.Errorf("%v %v %v", drawn.RGBAAt(0, 0), drawn.RGBAAt(15, 7), drawn.RGBAAt(1, 1))
	}
	s.names = []string{"boxes"}
	if err := s.write(filepath.Join(t.TempDir(), "s.png"), []sheetRow{{after: [][]tensor.Tensor{{boxes}}}}); err == nil {
		t.Error("no pictures: no error")
	}
	floats := tensor.FromSlice([]float32{1, 1, 1}, 3, 1, 1)
	floats.Layout = "CHW"
	for _, c := range []struct {
		cell sheetCell
		want color.RGBA
	}{{sheetCell{picture: floats, mean: []float64{100, 20, 0}, std: []float64{10}}, color.RGBA{110, 30, 10, 255}},
		{sheetCell{picture: floats, mean: []float64{250}, std: []float64{10}}, color.RGBA{255, 255, 255, 255}},
		{sheetCell{picture: floats}, color.RGBA{1, 1, 1, 255}}} {
		if c.cell.draw(drawn, 0, 0, 8); drawn.RGBAAt(0, 0) != c.want {
			t.Errorf("%v, %v: %v, want %v", c.cell.mean, c.cell.std, drawn.RGBAAt(0, 0), c.want)
		}
	}
	seen := map[[3]uint8]bool{}
	for v := range 256 {
		seen[maskColor(float64(v))] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d colours for 256 classes", len(seen))
	}
	if least, scale := stretch([]float64{-2, 3}); level((-2-least)*scale) != 0 || level((3-least)*scale) != 255 {
		t.Errorf("%v %v", least, scale)
	}
	if _, scale := stretch([]float64{7, 7}); scale != 1 {
		t.Errorf("equal numbers: %v", scale)
	}
}
