package reduce

func init() {
	registerDeviation("variance", "Gives the mean of the squares of the distances of elements from a mean.", false)
}
