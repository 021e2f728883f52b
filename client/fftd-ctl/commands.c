/* The table of commands, each with its help. */
#include "commands.h"

const struct command command_table[] = {
    {"list", "", "show the daemons on this machine",
     "Looks for sockets in /run/fftd, in $XDG_RUNTIME_DIR/fftd and in the user's\n"
     "private directory under /tmp. Contacting a daemon that has systemd socket\n"
     "units starts it.\n",
     "", 0, 0, command_list},
    {"status", "", "show the camera, engine, filter and frame rate",
     "      --timeout SECONDS  wait no longer for an answer (default: 25); then the\n"
     "                         command ends with 75\n\n"
     "Examples:\n"
     "  fftd-ctl --name front status\n"
     "  fftd-ctl status --json | jq .State\n",
     "timeout", 0, 0, command_status},
    {"output", "ACTION ...", "show, add or remove the pictures that the camera offers",
     "  output list                show them\n"
     "  output add NAME [CHAIN...] add one, with a filter (default: none)\n"
     "  output remove NAME         remove one; its readers see the end\n"
     "      --size WIDTHxHEIGHT    add: of its frames (default: as captured)\n"
     "      --fps RATE             add: at most RATE frames a second\n"
     "      --set KEY=VALUE        add: planes, depth or edge, as in fftd.conf(5)\n\n"
     "A camera has the output main, those that its configuration names in `outputs`,\n"
     "and those that were added, which end with the daemon. Every command shows or\n"
     "changes one of them if its name follows that of the camera: --name front:small.\n"
     "In a --runtime-dir DIR it is DIR/outputs/small.\n\n"
     "Examples:\n"
     "  fftd-ctl --name front output list\n"
     "  fftd-ctl output add small --size 640x360 --fps 10 gaussian-blur:sigma=1\n"
     "  fftd-ctl --name front:small filter set gaussian-blur:sigma=1\n"
     "  fftd-ctl --name front:small frames | ffplay -\n",
     "size fps set", 1, -1, command_output},
    {"stats", "", "show counters and latency percentiles",
     "Latency is measured for each step of a frame's processing. `total` is the\n"
     "time from capture to publication.\n\n"
     "      --watch[=SECONDS]  repeat at this interval (default: 1)\n"
     "  -n, --count N          with --watch: stop after N times\n"
     "      --csv              print the measures of the newest frame as one line of\n"
     "                         CSV, after a line with their names; the configuration\n"
     "                         needs output = { measures = true; };\n"
     "      --openmetrics      print OpenMetrics, for programs that serve scrapers\n"
     "      --prometheus       print Prometheus's text format, for the textfile\n"
     "                         collector of node_exporter\n"
     "  -o, --output FILE      write the metrics to FILE, replaced in one step\n\n"
     "With --watch and --output a daemon that has ended is waited for; meanwhile\n"
     "FILE says fftd_up 0.\n\n"
     "Examples:\n"
     "  fftd-ctl stats --watch=0.5\n"
     "  fftd-ctl stats --csv --watch=0.5 > sharpness.csv\n"
     "  fftd-ctl stats --json | jq .FramesPublished\n"
     "  fftd-ctl stats --json | jq .Latency.total.p99_ns\n"
     "  fftd-ctl stats --prometheus --watch=15 \\\n"
     "    -o /var/lib/prometheus/node-exporter/fftd.prom\n",
     "watch count csv openmetrics prometheus output", 0, 0, command_stats},
    {"watch", "", "show a running camera on the terminal, in place",
     "Shows state, camera, filter, frame rate, latency, counters that rise, and with\n"
     "output.measures the measures of frames, once a second. Charts show the last\n"
     "minute. A daemon that is restarted is found again. q or Ctrl-C ends it.\n\n"
     "stdout must be a terminal; `fftd-ctl stats --watch` writes to files and pipes.\n\n"
     "Examples:\n"
     "  fftd-ctl --name front watch\n",
     "", 0, 0, command_watch},
    {"filter", "ACTION ...", "show or change the filter chain",
     "  filter show              list the stages\n"
     "  filter set CHAIN...      replace the chain; several operands are joined by |\n"
     "  filter add STAGE [N]     add a stage at the end, or as number N\n"
     "  filter remove STAGE      remove a stage, by its number or an unambiguous kind\n"
     "  filter edit CHANGE...    make several changes at once (see below)\n"
     "  filter restart           begin again with the same chain and an empty stack\n"
     "  filter preset NAME       replace the chain by a preset\n"
     "  filter keep              replace what adapts by what it has found, to save it\n"
     "  filter save              save the chain in the configuration, for every start\n"
     "  filter save FILE [TEXT]  save the chain as a preset with the summary TEXT\n"
     "  filter kinds [KIND]      list the kinds of filters and their parameters\n"
     "  filter presets           list the presets, each with its chain\n"
     "  filter plot FILE [CHAIN...]\n"
     "                           draw the response of the filter, or of a chain that\n"
     "                           is not in use, as a PNG image (- is stdout)\n\n"
     "A stage is KIND:PARAMETER=VALUE,... Frequencies are in cycles per pixel, from\n"
     "0 to 0.5. A change takes effect as a whole or not at all. The command prints\n"
     "the serial of the new filter, which each of its frames carries, and waits for\n"
     "the first of them. While other kernels are compiled for it, which can take\n"
     "seconds, frames keep the previous filter. They also do if the device cannot\n"
     "make the new one: then the command fails and says why.\n\n"
     "The changes of `edit` are made in their order, get one serial, and take effect\n"
     "with the same frame:\n"
     "  add STAGE [N] | remove STAGE | move STAGE N | set STAGE.PARAMETER=VALUE |\n"
     "  replace CHAIN\n\n"
     "      --raw              for `show`: one line, as `set` takes it\n"
     "      --fade N           blend from the old filter to the new one over N frames\n"
     "      --if-serial N      change the filter only if its serial is still N\n"
     "      --no-wait          do not wait for a frame with the new filter\n"
     "      --timeout SECONDS  wait no longer (default: 60); then the change stays,\n"
     "                         and the command ends with 75\n"
     "      --all              for `save`: the camera's controls, too\n"
     "      --config FILE      for `save`: this configuration, and not the daemon's\n\n"
     "Examples:\n"
     "  fftd-ctl filter set lowpass:cutoff=0.1\n"
     "  fftd-ctl filter set 'notch:at=0.21/0.13,width=0.02 | gaussian-blur:sigma=0.7'\n"
     "  fftd-ctl filter add notch:at=0.125/0,width=0.02 1\n"
     "  fftd-ctl filter remove notch\n"
     "  fftd-ctl filter edit set bandpass.low=0.2 set bandpass.high=0.3 remove notch\n"
     "  fftd-ctl filter plot response.png\n"
     "  fftd-ctl filter set --fade 30 none\n"
     "  sudo fftd-ctl --name front filter save\n",
     "raw if-serial fade no-wait timeout all config", 1, -1, command_filter},
    {"set", "STAGE.PARAMETER VALUE", "change one parameter of the filter",
     "STAGE is the number of a stage, from 1, or its kind. The form\n"
     "STAGE.PARAMETER=VALUE also takes negative values. To change a key of the\n"
     "configuration, edit its file and run `fftd-ctl reload`. `fftd-ctl filter edit`\n"
     "changes several parameters at once.\n\n"
     "      --fade N           blend from the old value to the new one over N frames\n"
     "      --if-serial N      change it only if the filter's serial is still N\n"
     "      --no-wait, --timeout SECONDS\n"
     "                         as for `filter`\n\n"
     "Examples:\n"
     "  fftd-ctl set lowpass.cutoff 0.2\n"
     "  fftd-ctl set 2.at=-0.1/0.25\n",
     "if-serial fade no-wait timeout", 1, 2, command_set},
    {"view", "[VIEW]", "show or choose what is published of each frame",
     "Without an operand, prints the view in use.\n\n"
     "  picture                the filtered picture\n"
     "  difference             what the filter removes: input minus output, twice as\n"
     "                         strong, around mid grey\n"
     "  spectrum               the spectrum of the filtered picture: frequency zero\n"
     "                         in the middle, 0.5 cycles per pixel at the edges,\n"
     "                         black at -120 dB of full scale and white at -20 dB\n"
     "  peaks                  the spectrum of the captured picture; squares mark the\n"
     "                         waves that auto-notch has found\n"
     "  edges                  how steep the filtered picture is (Sobel) along each\n"
     "                         edge, and 0 elsewhere; engine.edge_low and\n"
     "                         engine.edge_high are its thresholds (Canny)\n"
     "  motion                 the filtered picture with an arrow for each block\n"
     "                         whose motion is sure, four times as long as that;\n"
     "                         needs output.motion\n\n"
     "A view is a picture that all readers of frames get instead of the filtered one;\n"
     "all but `motion` are grey, of luma. The first use makes the daemon compile\n"
     "other kernels, which can take seconds; the picture continues meanwhile. The\n"
     "command waits for the first frame with the view, and prints the serial that\n"
     "frames carry from then on.\n\n"
     "      --no-wait, --timeout SECONDS\n"
     "                         as for `filter`\n\n"
     "Examples:\n"
     "  fftd-ctl view difference\n"
     "  fftd-ctl view picture\n",
     "no-wait timeout", 0, 1, command_view},
    {"camera", "ACTION ...", "show or set the camera's own controls",
     "  camera controls           list the controls, their values and ranges\n"
     "  camera set NAME=VALUE...  set controls in this order, all of them or none\n\n"
     "A value is a whole number, true or false, or the number or name of a menu's\n"
     "entry. The daemon sets it again whenever the camera is opened, until the\n"
     "daemon ends. Values for every start belong in the configuration, as\n"
     "camera.controls.\n\n"
     "Examples:\n"
     "  fftd-ctl camera set auto_exposure=1 exposure_time_absolute=200\n"
     "  fftd-ctl camera set power_line_frequency='50 Hz'\n",
     "", 1, -1, command_camera},
    {"reload", "", "read the configuration file again",
     "Applies every key that a running daemon can change. A file with an error, or\n"
     "with a source that cannot be opened, changes nothing. The daemon's log names\n"
     "the other keys that have changed: they take effect at the next start.\n",
     "", 0, 0, command_reload},
    {"snapshot", "[before] [after] [spectrum] [side-by-side]",
     "save PNG images of one frame and its spectrum",
     "Without operands it saves all four images of the same frame. The spectrum is\n"
     "the logarithm of the magnitude before and after the filter, with frequency\n"
     "zero in the middle and 0.5 cycles per pixel at the edges.\n\n"
     "All images but `after` show the picture before the filter. They need the right\n"
     "to change the filter, unless output.watch_unfiltered is set in the\n"
     "configuration.\n\n"
     "  -o, --output PATH      a file for one image (- is stdout), or a directory\n"
     "                         for several (default: the working directory)\n\n"
     "Examples:\n"
     "  fftd-ctl snapshot after -o now.png\n"
     "  fftd-ctl snapshot -o /tmp/images\n",
     "output", 0, 4, command_snapshot},
    {"frames", "", "write the filtered frames as Y4M or raw video",
     "Writes every frame from now on. A reader that is too slow misses frames. The\n"
     "numbers of frames written and missed are printed on stderr at the end. Pixel\n"
     "formats that Y4M does not have need --raw, which writes rows without padding,\n"
     "plane after plane.\n\n"
     "  -n, --count N          stop after N frames\n"
     "  -o, --output FILE      write to FILE instead of stdout\n"
     "      --raw              write the camera's own pixel format without headers\n\n"
     "Examples:\n"
     "  fftd-ctl frames | ffplay -\n"
     "  fftd-ctl frames -n 300 -o clip.y4m\n",
     "count output raw", 0, 0, command_frames},
    {"convert", "IN OUT", "filter a recording; no daemon needs to run", convert_help,
     "filter pixel-format two-pass compare resume size fps set raw", 2, 2, command_convert},
    {"calibrate", "dark|flat|stripes [NAME]", "record the fixed pattern of the camera",
     "Averages frames before the filter, and writes the image that a stage of the\n"
     "filter subtracts or divides by (`fftd-ctl filter kinds dark`). For `dark`\n"
     "cover the lens; for `flat` let it see an evenly lit surface. Exposure and gain\n"
     "must be fixed, and as they are in use. `stripes` needs no dark frame: from\n"
     "frames of a scene that moves along both axes it finds what the camera adds to\n"
     "each column and each row, for `dark` to subtract, and hot and dead pixels, for\n"
     "`dark` to replace. Warnings tell of white pixels, unsteady light or a scene\n"
     "that stands still.\n\n"
     "The image is NAME.pfm (default: dark.pfm, flat.pfm or stripes.pfm) in\n"
     "$FFTD_IMAGE_DIR or /etc/fftd/images. It takes the right to change the filter.\n\n"
     "  -n, --count N          take N frames (default: 64)\n"
     "  -o, --output PATH      write to this file or directory instead\n\n"
     "Examples:\n"
     "  fftd-ctl calibrate dark\n"
     "  fftd-ctl calibrate flat -n 200\n"
     "  fftd-ctl filter preset fixed-pattern\n",
     "count output", 1, 2, command_calibrate},
    {"diagnose", "[FILE]", "find what is wrong with the picture, and what helps", diagnose_help,
     "count apply report", 0, 1, command_diagnose},
    {"motion", "", "measure vibrations: frequency, amplitude, phase", motion_help,
     "seconds region plot picture at csv output", 0, 0, command_motion},
    {"tune", "[quick | exhaustive | stop]", "search for the fastest settings on the device",
     "Builds and measures the engine with about thirty settings (quick, the default)\n"
     "or several hundred (exhaustive). Frames continue, more slowly. The best\n"
     "settings take effect at once, and are cached for this device, driver and\n"
     "frame size. Ctrl-C or `fftd-ctl tune stop` ends the search.\n\n"
     "Examples:\n"
     "  fftd-ctl tune\n"
     "  fftd-ctl --name front tune exhaustive\n",
     "", 0, 1, command_tune},
    {"check", "CONFIG", "check a configuration file",
     "Runs `fftd --check`.\n\n"
     "Examples:\n"
     "  fftd-ctl check /etc/fftd/front.conf\n",
     "", 1, 1, command_check},
    {"devices", "", "show the cameras and OpenCL devices of this machine",
     "Runs `fftd --list-devices`.\n", "", 0, 0, command_devices},
    {"report", "", "collect what to send when something does not work",
     "Prints, as text: what is plainly wrong; versions; the machine and its clocks;\n"
     "OpenCL drivers and devices; cameras and their formats; the service's and the\n"
     "kernel's last messages; the daemon's state, filter and latency; and the\n"
     "configuration. Frames, names of hosts and users, and serial numbers are left\n"
     "out. Read it before you send it. Run it as root to include the messages and\n"
     "the configuration. A program that does not end is stopped after 20 seconds.\n\n"
     "  -o, --output FILE      write to FILE instead of stdout\n\n"
     "Examples:\n"
     "  sudo fftd-ctl report -o report.txt\n"
     "  sudo fftd-ctl --name front report\n",
     "output", 0, 0, command_report},
};
const unsigned command_count = sizeof command_table / sizeof command_table[0];
