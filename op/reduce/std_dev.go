package reduce

func init() {
	registerDeviation("std_dev", "Gives the square root of the mean of the squares of the distances of elements from a mean.", true)
}
