/* The report of `diagnose`: one HTML file with everything in it, which loads nothing. */
#ifndef FFTD_CTL_DIAGNOSE_REPORT_H
#define FFTD_CTL_DIAGNOSE_REPORT_H

#include "ctl.h"
#include "diagnosis/diagnosis.h"

/* Writes ctl->report. Prints the reason for a failure, and returns 0 or an exit code. */
int diagnose_write_report(const struct ctl *ctl, struct diagnosis *diagnosis,
                          const struct diagnosis_result *result);

#endif
