package checkpoint

import (
	"path/filepath"
	"testing"
)

// Formats are Python's. What a pattern writes, Load finds: DALI does not, where that is not digits
// alone, and goes on from an older file.
func TestFormatsArePythons(t *testing.T) {
	numbers := [4]int{0, 5, 1234, 1234567}
	for spec, want := range map[string][4]string{
		"":      {"0", "5", "1234", "1234567"},
		"d":     {"0", "5", "1234", "1234567"},
		",":     {"0", "5", "1,234", "1,234,567"},
		"_":     {"0", "5", "1_234", "1_234_567"},
		"04d":   {"0000", "0005", "1234", "1234567"},
		"4":     {"   0", "   5", "1234", "1234567"},
		"06,":   {"00,000", "00,005", "01,234", "1,234,567"},
		"04,":   {"0,000", "0,005", "1,234", "1,234,567"},
		"010,":  {"00,000,000", "00,000,005", "00,001,234", "01,234,567"},
		"+":     {"+0", "+5", "+1234", "+1234567"},
		"+5":    {"   +0", "   +5", "+1234", "+1234567"},
		"-4d":   {"   0", "   5", "1234", "1234567"},
		" ":     {" 0", " 5", " 1234", " 1234567"},
		">6":    {"     0", "     5", "  1234", "1234567"},
		"*>6":   {"*****0", "*****5", "**1234", "1234567"},
		"*<6":   {"0*****", "5*****", "1234**", "1234567"},
		"^7":    {"   0   ", "   5   ", " 1234  ", "1234567"},
		"é^7":   {"ééé0ééé", "ééé5ééé", "é1234éé", "1234567"},
		"=+6":   {"+    0", "+    5", "+ 1234", "+1234567"},
		"#x":    {"0x0", "0x5", "0x4d2", "0x12d687"},
		"#06x":  {"0x0000", "0x0005", "0x04d2", "0x12d687"},
		"_b":    {"0", "101", "100_1101_0010", "1_0010_1101_0110_1000_0111"},
		"08_b":  {"000_0000", "000_0101", "100_1101_0010", "1_0010_1101_0110_1000_0111"},
		"X":     {"0", "5", "4D2", "12D687"},
		"n":     {"0", "5", "1234", "1234567"},
		"05n":   {"00000", "00005", "01234", "1234567"},
		"#o":    {"0o0", "0o5", "0o2322", "0o4553207"},
		"0<6":   {"000000", "500000", "123400", "1234567"},
		"12,":   {"           0", "           5", "       1,234", "   1,234,567"},
		"+012,": {"+000,000,000", "+000,000,005", "+000,001,234", "+001,234,567"},
		"_x":    {"0", "5", "4d2", "12_d687"},
		"0=8":   {"00000000", "00000005", "00001234", "01234567"},
		"<08d":  {"00000000", "50000000", "12340000", "12345670"},
	} {
		f, ok := parseFormat(spec)
		if !ok {
			t.Errorf("%q is refused", spec)
			continue
		}
		for i, n := range numbers {
			got := f.text(n)
			if got != want[i] {
				t.Errorf("%q of %d: got %q, want %q", spec, n, got, want[i])
			}
			if number, ok := f.number(got); f.base == 10 && f.fill != "0" && (!ok || number != n) {
				t.Errorf("%q: %q is read as %d, %t", spec, got, number, ok)
			}
		}
	}
}

func TestLoadFindsSeparatedNumbers(t *testing.T) {
	pattern := filepath.Join(t.TempDir(), "state_{seq:,}.json")
	c := New()
	if _, err := c.RegisterAnonymous(generator{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Collect(); err != nil {
		t.Fatal(err)
	}
	c.sequence = 998
	var last string
	for range 4 {
		path, err := c.Save(t.Context(), pattern)
		if err != nil {
			t.Fatal(err)
		}
		last = path
	}
	if filepath.Base(last) != "state_1,001.json" {
		t.Fatalf("saved %s", last)
	}
	loaded := New()
	if got, err := loaded.Load(pattern); err != nil || got != last {
		t.Errorf("loaded %s, %v; the newest is %s", got, err, last)
	}
}

// generator is a state that stays.
type generator struct{}

func (generator) GetState() (any, error) { return "x", nil }
func (generator) SetState(any) error     { return nil }
