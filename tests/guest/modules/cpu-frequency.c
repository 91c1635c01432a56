// SPDX-License-Identifier: GPL-2.0
/*
 * Tell the kernel that its CPUs have a frequency of khz, where no driver does.  Then arm64's NMI
 * watchdog has the period of as many cycles, and not of five GHz.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>

static uint khz = 500000;
module_param(khz, uint, 0444);

static int init_policy(struct cpufreq_policy *policy)
{
	policy->cpuinfo.min_freq = khz;
	policy->cpuinfo.max_freq = khz;
	policy->min = khz;
	policy->max = khz;
	policy->policy = CPUFREQ_POLICY_PERFORMANCE;
	return 0;
}

static int verify_policy(struct cpufreq_policy_data *policy)
{
	return 0;
}

static int set_policy(struct cpufreq_policy *policy)
{
	return 0;
}

static struct cpufreq_driver driver = {
	.name		= "cpu-frequency",
	.init		= init_policy,
	.verify		= verify_policy,
	.setpolicy	= set_policy,
};

static int __init cpu_frequency_init(void)
{
	return cpufreq_register_driver(&driver);
}

static void __exit cpu_frequency_exit(void)
{
	cpufreq_unregister_driver(&driver);
}

module_init(cpu_frequency_init);
module_exit(cpu_frequency_exit);
MODULE_DESCRIPTION("A frequency of the CPUs of the tests' virtual machines");
MODULE_LICENSE("GPL");
