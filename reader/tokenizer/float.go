package tokenizer

import (
	"math"
	"strconv"
	"strings"
)

// rustFloat returns a number of a JSON text as the tokenizers of Hugging Face read it: their parser
// rounds twice, so that the last bit may differ from the nearest number. Scores that differ in the
// last bit decide between two ways to cut a text.
func rustFloat(text string) (float64, bool) {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return 0, false
	}
	digits, negative := strings.CutPrefix(text, "-")
	digits, power, _ := strings.Cut(strings.ReplaceAll(digits, "E", "e"), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return 0, false
		}
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	var significand uint64
	full := false // further digits are left out
	for i, d := range whole + fraction {
		digit := uint64(d - '0')
		if full = full || significand > (math.MaxUint64-digit)/10; full {
			if i < len(whole) {
				exponent++
			}
			continue
		}
		if significand = significand*10 + digit; i >= len(whole) {
			exponent--
		}
	}
	f := float64(significand)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	if exponent > 308 && f != 0 {
		return 0, false
	}
	if p := powers[min(308, max(exponent, -exponent))]; exponent >= 0 {
		f *= p
	} else {
		f /= p
	}
	if negative {
		f = -f
	}
	return f, !math.IsInf(f, 0)
}

// powers are the powers of ten that are a float64.
var powers = func() (list [309]float64) {
	for i := range list {
		list[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return list
}()
