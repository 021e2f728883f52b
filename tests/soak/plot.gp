# Plots the figures of soak.py over time: gnuplot -e "folder='build/soak'" plot.gp
set terminal pngcairo size 1000,1100 font ",10"
set output folder."/soak.png"
set datafile separator ","
set key autotitle columnhead top left
set multiplot layout 4,1
set grid
set xrange [0:*]
set yrange [0:*]
csv = folder."/soak.csv"
set ylabel "MiB"
plot csv using 1:2 with lines, "" using 1:3 with lines
set ylabel "how many"
plot csv using 1:4 with lines, "" using 1:5 with lines, "" using 1:6 with steps
set ylabel "ms"
set logscale y
set yrange [*:*]
plot csv using 1:7 with lines, "" using 1:8 with lines, "" using 1:9 with lines
unset logscale y
set yrange [0:*]
set ylabel "a second"
set xlabel "seconds"
plot csv using 1:10 with lines
unset multiplot
