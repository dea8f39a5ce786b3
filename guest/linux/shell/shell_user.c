// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The character device: BARs and DMA memory for one program that drives the ERNIC. The
 * object outlives the card while a program has it open; mappings end with the card.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include "ernic-shell-abi.h"
#include "shell.h"

/* The bytes that one read() or write() copies at once. */
#define PIECE		SZ_64K
/* Memory of the card, if it has some. */
#define CARD_BAR	4
#define MAP_PAGE_SHIFT	(ERNIC_SHELL_MAP_SHIFT - PAGE_SHIFT)

struct shell_area {
	struct page *page;
	dma_addr_t bus;
	size_t size;
};

struct shell_user {
	struct kref ref;
	struct miscdevice misc;
	char name[32];
	struct mutex lock;		/* of all that follows */
	struct shell *s;		/* NULL: the card has gone, or is in a reset */
	struct address_space *mapping;	/* of the open file, or NULL */
	struct shell_area area[ERNIC_SHELL_AREAS];
	u32 areas;
};

static void user_free(struct kref *ref)
{
	kfree(container_of(ref, struct shell_user, ref));
}

/* The ERNIC must not write to memory that is used for something else: rather lose it. */
static void free_areas(struct shell_user *u)
{
	if (shell_ops(u->s)->reset_ernic(u->s))
		u->areas = 0;
	while (u->areas) {
		struct shell_area *area = &u->area[--u->areas];

		dma_free_pages(&u->s->pdev->dev, area->size, area->page, area->bus,
			       DMA_BIDIRECTIONAL);
	}
}

static int user_open(struct inode *inode, struct file *file)
{
	struct shell_user *u = container_of(file->private_data, struct shell_user, misc);
	int err;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	/* By the card a program reaches all of memory. */
	err = security_locked_down(LOCKDOWN_PCI_ACCESS);
	if (err)
		return err;
	/* Others open other devices meanwhile: this does not wait for a copy. */
	if (!mutex_trylock(&u->lock))
		return -EBUSY;
	if (!u->s) {
		err = -ENODEV;
	} else if (u->mapping) {
		err = -EBUSY;
	} else {
		u->mapping = file->f_mapping;
		kref_get(&u->ref);
		file->private_data = u;
	}
	mutex_unlock(&u->lock);
	return err;
}

static int user_release(struct inode *inode, struct file *file)
{
	struct shell_user *u = file->private_data;

	mutex_lock(&u->lock);
	if (u->s)
		free_areas(u);
	u->mapping = NULL;
	mutex_unlock(&u->lock);
	kref_put(&u->ref, user_free);
	return 0;
}

static int add_area(struct shell_user *u, struct ernic_shell_area *arg)
{
	struct shell_area *area;

	if (!u->s)
		return -ENODEV;
	if (u->areas == ERNIC_SHELL_AREAS)
		return -ENOSPC;
	area = &u->area[u->areas];
	area->size = arg->size;
	area->page = dma_alloc_pages(&u->s->pdev->dev, area->size, &area->bus,
				     DMA_BIDIRECTIONAL, GFP_KERNEL | __GFP_NOWARN);
	if (!area->page)
		return -ENOMEM;
	arg->bus = area->bus;
	arg->offset = (u64)(ERNIC_SHELL_MAP_AREA + u->areas) << ERNIC_SHELL_MAP_SHIFT;
	u->areas++;
	return 0;
}

static long user_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct shell_user *u = file->private_data;
	struct ernic_shell_area area;
	int err;

	if (cmd != ERNIC_SHELL_IOC_AREA)
		return -ENOTTY;
	if (copy_from_user(&area, (void __user *)arg, sizeof(area)))
		return -EFAULT;
	if (!area.size || area.size % PAGE_SIZE || area.size > ERNIC_SHELL_AREA_MAX)
		return -EINVAL;
	mutex_lock(&u->lock);
	err = add_area(u, &area);
	mutex_unlock(&u->lock);
	if (!err && copy_to_user((void __user *)arg, &area, sizeof(area)))
		err = -EFAULT;		/* the area ends with the file */
	return err;
}

/* The pages of @what: the first one, and their number; 0: there are none. */
static unsigned long pages_of(struct shell_user *u, unsigned long what, unsigned long *first)
{
	struct shell_area *area;
	int bar;

	if (!u->s)
		return 0;
	if (what < ERNIC_SHELL_MAP_AREA) {
		bar = what == ERNIC_SHELL_MAP_CARD ? CARD_BAR : u->s->kind->bar;
		*first = pci_resource_start(u->s->pdev, bar) >> PAGE_SHIFT;
		return pci_resource_len(u->s->pdev, bar) >> PAGE_SHIFT;
	}
	what -= ERNIC_SHELL_MAP_AREA;
	if (what >= u->areas)
		return 0;
	area = &u->area[what];
	*first = page_to_pfn(area->page);
	return area->size >> PAGE_SHIFT;
}

/* Pages come one by one, so that none appears after the card has gone. */
static vm_fault_t user_fault(struct vm_fault *vmf)
{
	struct shell_user *u = vmf->vma->vm_file->private_data;
	unsigned long at = vmf->pgoff & (BIT(MAP_PAGE_SHIFT) - 1), first;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&u->lock);
	if (at < pages_of(u, vmf->pgoff >> MAP_PAGE_SHIFT, &first))
		ret = vmf_insert_pfn(vmf->vma, vmf->address, first + at);
	mutex_unlock(&u->lock);
	return ret;
}

static const struct vm_operations_struct user_vm_ops = { .fault = user_fault };

static void set_flags(struct vm_area_struct *vma)
{
	unsigned long flags = VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= flags;
#else
	vm_flags_set(vma, flags);
#endif
}

static int user_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct shell_user *u = file->private_data;
	unsigned long what = vma->vm_pgoff >> MAP_PAGE_SHIFT, first, pages;
	unsigned long at = vma->vm_pgoff & (BIT(MAP_PAGE_SHIFT) - 1);

	mutex_lock(&u->lock);
	pages = pages_of(u, what, &first);
	mutex_unlock(&u->lock);
	if (!(vma->vm_flags & VM_SHARED) || at + vma_pages(vma) > pages)
		return -EINVAL;
	if (what < ERNIC_SHELL_MAP_AREA)
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	set_flags(vma);
	vma->vm_ops = &user_vm_ops;
	return 0;
}

/* ---- the card's memory, by the memory-mapped engines -------------------------------------- */

/* The bytes of a piece at @pos; 0: there are none. */
static size_t piece(struct shell_user *u, size_t count, loff_t pos)
{
	resource_size_t size;
	size_t n = 0;

	mutex_lock(&u->lock);
	size = u->s && shell_ops(u->s)->copy ? pci_resource_len(u->s->pdev, CARD_BAR) : 0;
	if (pos < size)
		n = min3(count, (size_t)(size - pos), (size_t)PIECE);
	mutex_unlock(&u->lock);
	return n;
}

static int copy(struct shell_user *u, int dir, void *buf, loff_t pos, size_t n)
{
	int err;

	mutex_lock(&u->lock);
	err = u->s ? shell_ops(u->s)->copy(u->s, dir, buf, pos, n) : -ENODEV;
	mutex_unlock(&u->lock);
	return err;
}

/* A piece: the lock is not held where the program's memory may be one of our mappings. */
static ssize_t user_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	struct shell_user *u = file->private_data;
	size_t n = piece(u, count, *pos);
	void *buf;
	int err;

	if (!n)
		return 0;
	buf = kzalloc(n, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	err = copy(u, SHELL_FROM_CARD, buf, *pos, n);
	if (!err && copy_to_user(to, buf, n))
		err = -EFAULT;
	kfree(buf);
	if (err)
		return err;
	*pos += n;
	return n;
}

static ssize_t user_write(struct file *file, const char __user *from, size_t count,
			  loff_t *pos)
{
	struct shell_user *u = file->private_data;
	size_t n = piece(u, count, *pos);
	void *buf;
	int err;

	if (!n)
		return count ? -ENOSPC : 0;
	buf = memdup_user(from, n);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = copy(u, SHELL_TO_CARD, buf, *pos, n);
	kfree(buf);
	if (err)
		return err;
	*pos += n;
	return n;
}

static const struct file_operations user_ops = {
	.owner = THIS_MODULE,
	.open = user_open,
	.release = user_release,
	.read = user_read,
	.write = user_write,
	.llseek = default_llseek,
	.unlocked_ioctl = user_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = user_mmap,
};

int shell_user_create(struct shell *s)
{
	struct shell_user *u = kzalloc(sizeof(*u), GFP_KERNEL);
	int err;

	if (!u)
		return -ENOMEM;
	kref_init(&u->ref);
	mutex_init(&u->lock);
	u->s = s;
	/* By its address a program finds the device of a function. */
	snprintf(u->name, sizeof(u->name), "ernic-shell-%s", pci_name(s->pdev));
	u->misc.minor = MISC_DYNAMIC_MINOR;
	u->misc.name = u->name;
	u->misc.fops = &user_ops;
	u->misc.parent = &s->pdev->dev;
	u->misc.mode = 0600;
	err = misc_register(&u->misc);
	if (err)
		kfree(u);
	else
		s->chardev = u;
	return err;
}

void shell_user_leave(struct shell *s)
{
	struct shell_user *u = s->chardev;

	if (!u)
		return;
	mutex_lock(&u->lock);
	if (u->s) {
		if (u->mapping)
			unmap_mapping_range(u->mapping, 0, 0, 1);
		free_areas(u);
		u->s = NULL;
	}
	mutex_unlock(&u->lock);
}

void shell_user_back(struct shell *s)
{
	struct shell_user *u = s->chardev;

	if (!u)
		return;
	mutex_lock(&u->lock);
	u->s = s;
	mutex_unlock(&u->lock);
}

void shell_user_destroy(struct shell *s)
{
	struct shell_user *u = s->chardev;

	if (!u)
		return;
	misc_deregister(&u->misc);
	shell_user_leave(s);
	kref_put(&u->ref, user_free);
	s->chardev = NULL;
}
